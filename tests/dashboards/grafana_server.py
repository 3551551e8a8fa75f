"""A Grafana of one organisation over HTTP, by its documented API and strictly: status codes, versions, provenance.

It knows only what `apply` needs, refuses unknown routes with 404 and unknown fields with 400, and stores nothing but JSON.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]
TOKEN = "glsa_test"
_RULE_FIELDS = set(
    "uid title condition data noDataState execErrState for annotations labels isPaused notification_settings folderUID"
    " ruleGroup orgID id updated provenance record keep_firing_for missing_series_evals_to_resolve".split()
)
_NO_DATA = ("OK", "Alerting", "NoData", "KeepLast")
_EXEC_ERR = ("OK", "Alerting", "Error", "KeepLast")
_CHANNELS = {
    "slack": ("url",),
    "discord": ("url",),
    "teams": ("url",),
    "telegram": ("bottoken", "chatid"),
    "webhook": ("url",),
    "email": ("addresses",),
}
_SECRET = ("url", "bottoken")


class Refused(Exception):
    """An answer with a status that is no success."""

    def __init__(self, status: int, message: str, /, **more: str) -> None:
        super().__init__(message)
        self.code = status
        self.body = {"message": message, **more}


@dataclass
class State:
    """What this Grafana holds."""

    version: str = "12.1.0"
    plugins: set[str] = field(default_factory=lambda: {"grafana-clickhouse-datasource"})
    role: str = "Admin"
    datasources: dict[str, Json] = field(default_factory=dict)
    folders: dict[str, Json] = field(default_factory=dict)
    dashboards: dict[str, Json] = field(default_factory=dict)
    """uid → {dashboard, folderUid, provisioned}"""
    templates: dict[str, Json] = field(default_factory=dict)
    contact_points: dict[str, Json] = field(default_factory=dict)
    rules: dict[str, Json] = field(default_factory=dict)
    intervals: dict[tuple[str, str], int] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """Method and path of every call that may change something."""

    def answer(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, Any]:
        """Return status and JSON."""
        parts = urlsplit(target)
        path, query = unquote(parts.path), parse_qs(parts.query)
        if path == "/api/health":
            return 200, {"database": "ok", "version": self.version}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Invalid API key")
        if method != "GET":
            if self.role != "Admin":
                raise Refused(403, "You'll need additional permissions to perform this action")
            self.calls.append(f"{method} {path}")
        for prefix, handle in _ROUTES:
            if path == prefix or path.startswith(prefix + "/"):
                rest = [part for part in path[len(prefix) :].split("/") if part]
                return handle(self, method, rest, _Asked(query, headers, body))
        raise Refused(404, "Not found")


@dataclass(frozen=True)
class _Asked:
    query: dict[str, list[str]]
    headers: Any
    body: Any

    @property
    def provenance(self) -> str:
        return "" if self.headers.get("X-Disable-Provenance") == "true" else "api"


def _org(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    return 200, {"id": 1, "name": "Main Org."}


def _plugins(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if len(rest) != 2 or rest[1] != "settings" or rest[0] not in state.plugins:
        raise Refused(404, "Plugin not found, no installed plugin with that id")
    return 200, {"id": rest[0], "enabled": True, "info": {"version": "4.11.0"}}


def _datasources(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if not rest and method == "POST":
        body = _object(asked.body, {"uid", "name", "type", "access", "url", "jsonData", "secureJsonData"})
        _need(body, "name", "type", "access")
        if any(body["name"] == other["name"] for other in state.datasources.values()):
            raise Refused(409, "data source with the same name already exists")
        state.datasources[body["uid"]] = {
            **_hide(body),
            "id": len(state.datasources) + 1,
            "version": 1,
            "readOnly": False,
        }
        return 200, {"message": "Datasource added", "datasource": state.datasources[body["uid"]]}
    if len(rest) != 2 or rest[0] != "uid":
        raise Refused(404, "Not found")
    current = state.datasources.get(rest[1])
    if current is None:
        raise Refused(404, "Data source not found")
    if method == "GET":
        return 200, current
    if method != "PUT":
        raise Refused(404, "Not found")
    if current["readOnly"]:
        raise Refused(403, "Cannot update read-only data source")
    body = _object(
        asked.body, {"uid", "name", "type", "access", "url", "jsonData", "secureJsonData", "version"}
    )
    _need(body, "name", "type", "access")
    if body.get("version") not in (None, current["version"]):
        raise Refused(409, "Datasource has already been updated by someone else. Please reload and try again")
    secure = {**current.get("secureJsonFields", {}), **_hide(body).get("secureJsonFields", {})}
    state.datasources[rest[1]] = {
        **current, **_hide(body), "secureJsonFields": secure, "version": current["version"] + 1,
    }  # fmt: skip
    return 200, {"message": "Datasource updated"}


def _folders(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if not rest and method == "POST":
        body = _object(asked.body, {"uid", "title", "parentUid"})
        _need(body, "title")
        if body["uid"] in state.folders:
            raise Refused(409, "a folder with the same UID already exists")
        state.folders[body["uid"]] = {"id": 1, "uid": body["uid"], "title": body["title"], "version": 1}
        return 200, state.folders[body["uid"]]
    if len(rest) != 1 or rest[0] not in state.folders:
        raise Refused(404, "folder not found")
    current = state.folders[rest[0]]
    if method == "GET":
        return 200, current
    body = _object(asked.body, {"title", "version", "overwrite"})
    if body.get("version") != current["version"] and not body.get("overwrite"):
        raise Refused(412, "the folder has been changed by someone else", status="version-mismatch")
    current |= {"title": body["title"], "version": current["version"] + 1}
    return 200, current


def _dashboards(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if method == "POST" and rest == ["db"]:
        return _save_dashboard(state, _object(asked.body, {"dashboard", "folderUid", "message", "overwrite"}))
    if len(rest) != 2 or rest[0] != "uid" or rest[1] not in state.dashboards:
        raise Refused(404, "Dashboard not found")
    held = state.dashboards[rest[1]]
    if method == "GET":
        meta = {"folderUid": held["folderUid"], "provisioned": held.get("provisioned", False)}
        return 200, {"dashboard": _migrated(state, held["dashboard"]), "meta": meta}
    if method != "DELETE":
        raise Refused(404, "Not found")
    if held.get("provisioned"):
        raise Refused(400, "provisioned dashboard cannot be deleted")
    del state.dashboards[rest[1]]
    return 200, {"title": held["dashboard"]["title"], "message": "Dashboard deleted", "id": 1}


def _migrated(state: State, document: Json) -> Json:
    """Return a dashboard as it is read: Grafana 12 and later bring it up to their own schema."""
    if int(state.version.split(".")[0]) < 12:
        return document
    panels = [{**panel, "pluginVersion": state.version} for panel in document.get("panels", [])]
    return {**document, "schemaVersion": 42, "preload": False, "panels": panels}


def _save_dashboard(state: State, body: Json) -> tuple[int, Any]:
    wanted = body["dashboard"]
    if not wanted.get("title"):
        raise Refused(400, "Dashboard title cannot be empty")
    if len(wanted.get("uid") or "") > 40:
        raise Refused(400, "uid too long, max 40 characters")
    if body.get("folderUid") and body["folderUid"] not in state.folders:
        raise Refused(400, "folder not found")
    held = state.dashboards.get(wanted["uid"])
    if held is not None and held.get("provisioned"):
        raise Refused(400, "Cannot save provisioned dashboard")
    version = held["dashboard"]["version"] if held else 0
    if held is not None and not body.get("overwrite") and wanted.get("version") != version:
        raise Refused(412, "The dashboard has been changed by someone else", status="version-mismatch")
    number = held["dashboard"]["id"] if held else len(state.dashboards) + 1
    stored = {**wanted, "id": number, "version": version + 1}
    state.dashboards[wanted["uid"]] = {"dashboard": stored, "folderUid": body.get("folderUid", "")}
    return 200, {"id": number, "uid": wanted["uid"], "status": "success", "version": version + 1}


def _search(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    tags, folders = asked.query.get("tag", []), asked.query.get("folderUIDs")
    found = []
    for uid, held in state.dashboards.items():
        if folders is not None and held["folderUid"] not in folders:
            continue
        if all(tag in held["dashboard"].get("tags", []) for tag in tags):
            found.append(
                {
                    "uid": uid,
                    "title": held["dashboard"]["title"],
                    "type": "dash-db",
                    "folderUid": held["folderUid"],
                }
            )
    return 200, found


def _templates(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    (name,) = rest or [""]
    current = state.templates.get(name)
    if method == "GET":
        if current is None:
            raise Refused(404, "template not found")
        return 200, current
    body = _object(asked.body, {"template", "version"})
    if "{{ define" not in body["template"]:
        raise Refused(400, "invalid template")
    if current is not None:
        _same_provenance(current, asked)
        if body.get("version") != current["version"]:
            raise Refused(409, "version conflict: the template was changed")
    version = str(hash(body["template"]))
    state.templates[name] = {
        "name": name,
        "template": body["template"],
        "version": version,
        "provenance": asked.provenance,
    }
    return 202, state.templates[name]


def _contact_points(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if method == "GET" and not rest:
        return 200, [_redacted(point) for point in state.contact_points.values()]
    if method == "POST" and not rest:
        return 202, _redacted(_save_contact_point(state, asked.body, asked))
    (uid,) = rest
    if uid not in state.contact_points:
        raise Refused(404, "contact point not found")
    if method == "PUT":
        _same_provenance(state.contact_points[uid], asked)
        _save_contact_point(state, {**asked.body, "uid": uid}, asked)
        return 202, {"message": "contactpoint updated"}
    name = state.contact_points[uid]["name"]
    others = [point for key, point in state.contact_points.items() if key != uid and point["name"] == name]
    used = any(rule.get("notification_settings", {}).get("receiver") == name for rule in state.rules.values())
    if used and not others:
        raise Refused(409, "contact point is currently used by a notification policy or rule")
    del state.contact_points[uid]
    return 202, {"message": "contactpoint deleted"}


def _save_contact_point(state: State, body: Any, asked: _Asked) -> Json:
    point = _object(body, {"uid", "name", "type", "settings", "disableResolveMessage", "provenance"})
    _need(point, "name", "type", "settings")
    if point["type"] not in _CHANNELS:
        raise Refused(400, f"unknown type {point['type']}")
    if missing := [key for key in _CHANNELS[point["type"]] if not point["settings"].get(key)]:
        raise Refused(400, f"{point['type']}: {missing} must be specified")
    state.contact_points[point["uid"]] = {**point, "provenance": asked.provenance}
    return state.contact_points[point["uid"]]


def _redacted(point: Json) -> Json:
    return {
        **point,
        "settings": {k: "[REDACTED]" if k in _SECRET else v for k, v in point["settings"].items()},
    }


def _alert_rules(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if method == "GET" and not rest:
        return 200, list(state.rules.values())
    (uid,) = rest
    if uid not in state.rules:
        raise Refused(404, "rule not found")
    if method != "DELETE":
        raise Refused(404, "Not found")
    if state.rules[uid]["provenance"] == "file":
        raise Refused(409, "cannot delete with provided provenance '', needs 'file'")
    del state.rules[uid]
    return 204, None


def _rule_groups(state: State, method: str, rest: list[str], asked: _Asked) -> tuple[int, Any]:
    if len(rest) != 3 or rest[1] != "rule-groups":
        raise Refused(404, "Not found")
    folder, group = rest[0], rest[2]
    present = [r for r in state.rules.values() if (r["folderUID"], r["ruleGroup"]) == (folder, group)]
    if method == "GET":
        if not present:
            raise Refused(404, "rule group not found")
        return 200, {
            "title": group,
            "folderUid": folder,
            "interval": state.intervals[folder, group],
            "rules": present,
        }
    body = _object(asked.body, {"title", "folderUid", "interval", "rules"})
    if folder not in state.folders:
        raise Refused(400, "folder does not exist")
    if body["interval"] % 10 or body["interval"] <= 0:
        raise Refused(400, "interval must be a multiple of 10 seconds")
    for rule in body["rules"]:
        _check_rule(state, rule, asked)
    for rule in present:
        del state.rules[rule["uid"]]
    for number, rule in enumerate(body["rules"], 1):
        state.rules[rule["uid"]] = {
            **rule, "for": _duration(rule["for"]), "id": number, "updated": "2026-12-01T00:00:00Z", "provenance": asked.provenance,
            "folderUID": folder, "ruleGroup": group, "record": None,
        }  # fmt: skip
    state.intervals[folder, group] = body["interval"]
    return 200, body


def _duration(text: str) -> str:
    """Return a duration as Prometheus writes it, which is how Grafana gives it back: 120s is 2m."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if not text or found is None:
        raise Refused(400, f"not a valid duration string: {text!r}")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + seconds
    parts = [(total // 3600, "h"), (total // 60 % 60, "m"), (total % 60, "s")]
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def _check_rule(state: State, rule: Json, asked: _Asked) -> None:
    _object(rule, _RULE_FIELDS)
    _need(rule, "title", "condition", "data", "noDataState", "execErrState", "for")
    if len(rule["uid"]) > 40:
        raise Refused(400, "invalid alert rule: UID is longer than 40 symbols")
    if rule["noDataState"] not in _NO_DATA or rule["execErrState"] not in _EXEC_ERR:
        raise Refused(400, "unknown state option")
    if rule["condition"] not in [query["refId"] for query in rule["data"]]:
        raise Refused(400, f"condition {rule['condition']} does not exist")
    for query in rule["data"]:
        if query["datasourceUid"] not in ("__expr__", *state.datasources):
            raise Refused(400, "invalid alert rule: data source not found")
    receiver = rule.get("notification_settings", {}).get("receiver")
    if receiver is not None and receiver not in [point["name"] for point in state.contact_points.values()]:
        raise Refused(400, f"receiver {receiver} does not exist")
    group_by = rule.get("notification_settings", {}).get("group_by", ["alertname", "grafana_folder"])
    if not {"alertname", "grafana_folder"} <= set(group_by):
        raise Refused(400, "group by override must contain alertname and grafana_folder")
    held = state.rules.get(rule["uid"])
    if held is not None:
        _same_provenance(held, asked)
    if any(r["title"] == rule["title"] and r["uid"] != rule["uid"] for r in state.rules.values()):
        raise Refused(409, "a rule with this title exists in the folder")


def _same_provenance(held: Json, asked: _Asked) -> None:
    if held["provenance"] not in ("", asked.provenance):
        raise Refused(409, f"cannot change provenance from '{held['provenance']}' to '{asked.provenance}'")


def _object(body: Any, known: set[str]) -> Json:
    if not isinstance(body, dict):
        raise Refused(400, "bad request data")
    if unknown := set(body) - known:
        raise Refused(400, f"unknown fields {sorted(unknown)}")
    return body


def _need(body: Json, *names: str) -> None:
    if missing := [name for name in names if body.get(name) in (None, "")]:
        raise Refused(400, f"missing {missing}")


def _hide(body: Json) -> Json:
    shown = {key: value for key, value in body.items() if key != "secureJsonData"}
    if "secureJsonData" in body:
        shown["secureJsonFields"] = dict.fromkeys(body["secureJsonData"], True)
    return shown


_Handler = Callable[[State, str, list[str], _Asked], tuple[int, Any]]
_PROVISIONING = "/api/v1/provisioning"
_ROUTES: tuple[tuple[str, _Handler], ...] = (
    ("/api/org", _org),
    ("/api/plugins", _plugins),
    ("/api/datasources", _datasources),
    ("/api/folders", _folders),
    ("/api/dashboards", _dashboards),
    ("/api/search", _search),
    (f"{_PROVISIONING}/templates", _templates),
    (f"{_PROVISIONING}/contact-points", _contact_points),
    (f"{_PROVISIONING}/alert-rules", _alert_rules),
    (f"{_PROVISIONING}/folder", _rule_groups),
)


@contextmanager
def serving(state: State) -> Iterator[str]:
    """Serve a state on a free loopback port; yields the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            try:
                body = json.loads(raw) if raw else None
                status, found = state.answer(self.command, self.path, self.headers, body)
            except Refused as refused:
                status, found = refused.code, refused.body
            data = b"" if status == 204 else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
