"""Brings a running Grafana to what we have: what differs is shown first, then done, and nothing of others is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from headcount_dashboards.all_dashboards import dashboards
from headcount_dashboards.contacts import (
    NAME,
    SECRET_SETTINGS,
    TEMPLATE_NAME,
    contact_points,
    message_template,
)
from headcount_dashboards.dashboard import TAG
from headcount_dashboards.datasource import datasource
from headcount_dashboards.difference import differences, only
from headcount_dashboards.errors import NotOurs
from headcount_dashboards.grafana import Grafana, known
from headcount_dashboards.panels import Json
from headcount_dashboards.provisioning import FOLDER_UID
from headcount_dashboards.rules import OBSERVER, RUNS, UID_PREFIX, rule_groups
from headcount_dashboards.settings import GrafanaSettings

_PROVISIONING = "/v1/provisioning"
_EDITABLE = "api"
"""The provenance of what was pushed without the header that keeps it editable; it stays with that for good."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to do: create, update or delete. `lines` say what differs."""

    action: str
    kind: str
    name: str
    lines: tuple[str, ...]
    perform: Callable[[], object]


def plan(settings: GrafanaSettings, grafana: Grafana, *, refresh_secrets: bool = False) -> list[Change]:
    """Return what must be done, in its order; empty where everything is as it should be. Changes nothing itself."""
    return [
        *(_datasource(settings, grafana, refresh_secrets) if settings.manage_datasource else ()),
        *_folder(settings, grafana),
        *_dashboards(settings, grafana),
        *_template(grafana),
        *_contact_points(settings, grafana, refresh_secrets),
        *_rules(settings, grafana),
        *_leftovers(settings, grafana),
    ]


def _datasource(settings: GrafanaSettings, grafana: Grafana, refresh_secrets: bool) -> Iterator[Change]:
    wanted = datasource(settings, secrets=True)
    secret = wanted.pop("secureJsonData", {})
    path = f"/datasources/uid/{wanted['uid']}"
    full = {**wanted, "secureJsonData": secret} if secret else wanted
    current = grafana.find(path, "reading the data source")
    if current is None:
        yield Change(
            "create", "data source", wanted["uid"], (),
            lambda: grafana.call("POST", "/datasources", full, doing="creating the data source"),
        )  # fmt: skip
        return
    if current.get("type") != wanted["type"]:
        raise NotOurs(f"data source {wanted['uid']} is of type {current.get('type')}: give ours another uid")
    lines = list(differences(only(current, wanted), wanted))
    has_secret = bool(known(current.get("secureJsonFields", {})).get("password"))
    if secret and (refresh_secrets or not has_secret):
        lines.append("~ password")
    if lines:
        if current.get("readOnly"):
            raise NotOurs(
                f"data source {wanted['uid']} is kept by a file: change it there, or set "
                "HEADCOUNT_GRAFANA_MANAGE_DATASOURCE=false"
            )
        body = {**full, "jsonData": {**current.get("jsonData", {}), **wanted["jsonData"]}}
        body["version"] = current.get("version")
        yield Change(
            "update", "data source", wanted["uid"], tuple(lines),
            lambda: grafana.call("PUT", path, body, doing="updating the data source"),
        )  # fmt: skip


def _folder(settings: GrafanaSettings, grafana: Grafana) -> Iterator[Change]:
    current = grafana.find(f"/folders/{FOLDER_UID}", "reading the folder")
    if current is None:
        body = {"uid": FOLDER_UID, "title": settings.folder}
        yield Change(
            "create", "folder", settings.folder, (),
            lambda: grafana.call("POST", "/folders", body, doing="creating the folder"),
        )  # fmt: skip
    elif current["title"] != settings.folder:
        renamed = {"title": settings.folder, "version": current.get("version")}
        yield Change(
            "update", "folder", settings.folder, tuple(differences(current["title"], settings.folder, "title")),
            lambda: grafana.call("PUT", f"/folders/{FOLDER_UID}", renamed, doing="renaming the folder"),
        )  # fmt: skip


def _dashboards(settings: GrafanaSettings, grafana: Grafana) -> Iterator[Change]:
    for wanted in dashboards(settings):
        current = grafana.find(f"/dashboards/uid/{wanted['uid']}", f"reading dashboard {wanted['uid']}")
        if current is None:
            yield _save(grafana, "create", wanted, 0, ())
            continue
        meta, present = current.get("meta", {}), current["dashboard"]
        if meta.get("provisioned"):
            raise NotOurs(
                f"dashboard {wanted['uid']} comes from a file on that Grafana: render new files instead, or remove them first"
            )
        if TAG not in present.get("tags", []):
            raise NotOurs(f"dashboard {wanted['uid']} exists and is not ours: it lacks the tag {TAG!r}")
        lines = list(differences(*_compared(present, wanted)))
        if meta.get("folderUid") != FOLDER_UID:
            lines.append(f"~ folder: {meta.get('folderUid')!r} → {FOLDER_UID!r}")
        if lines:
            yield _save(grafana, "update", wanted, int(present.get("version", 0)), tuple(lines))


def _save(grafana: Grafana, action: str, wanted: Json, version: int, lines: tuple[str, ...]) -> Change:
    body = {
        "dashboard": {**wanted, **({"version": version} if version else {})},
        "folderUid": FOLDER_UID,
        "message": "headcount grafana apply",
        "overwrite": False,
    }
    doing = f"saving dashboard {wanted['uid']}"
    return Change(
        action,
        "dashboard",
        wanted["uid"],
        lines,
        lambda: grafana.call("POST", "/dashboards/db", body, doing=doing),
    )


def _compared(present: Json, wanted: Json) -> tuple[Json, Json]:
    """Return both without what Grafana numbers; and where it brought its own up to a newer schema, as Grafana 12 and
    later do, without what that added."""
    numbered = {"id", "version"}
    newer = int(present.get("schemaVersion", 0)) > int(wanted["schemaVersion"])
    ignored = numbered | {"schemaVersion"} if newer else numbered
    asked = {key: value for key, value in wanted.items() if key not in ignored}
    held = {key: value for key, value in present.items() if key not in ignored}
    return only(held, asked) if newer else held, asked


def _template(grafana: Grafana) -> Iterator[Change]:
    path = f"{_PROVISIONING}/templates/{TEMPLATE_NAME}"
    text = message_template()
    current = grafana.find(path, "reading the message template")
    if current is not None and current["template"].strip() == text.strip():
        return
    body: Json = {"template": text}
    if current is not None and current.get("version"):
        body["version"] = current["version"]
    lines = () if current is None else tuple(differences(current["template"], text, "template"))
    editable = _editable(current, f"message template {TEMPLATE_NAME}")
    yield Change(
        "create" if current is None else "update", "message template", TEMPLATE_NAME, lines,
        lambda: grafana.call("PUT", path, body, keep_editable=editable, doing="saving the message template"),
    )  # fmt: skip


def _contact_points(settings: GrafanaSettings, grafana: Grafana, refresh_secrets: bool) -> Iterator[Change]:
    present = {point["uid"]: point for point in _all_contact_points(grafana)}
    for wanted in contact_points(settings, secrets=True):
        yield from _contact_point(grafana, wanted, present.get(wanted["uid"]), refresh_secrets)


def _contact_point(
    grafana: Grafana, wanted: Json, current: Json | None, refresh_secrets: bool
) -> Iterator[Change]:
    name = f"{wanted['name']} ({wanted['type']})"
    path = f"{_PROVISIONING}/contact-points"
    if current is None:
        yield Change(
            "create", "contact point", name, (),
            lambda: grafana.call("POST", path, wanted, keep_editable=True, doing=f"creating contact point {name}"),
        )  # fmt: skip
        return
    lines = list(differences(only(_shown(current), _shown(wanted)), _shown(wanted)))
    if refresh_secrets:
        lines.append("~ secrets")
    if lines:
        editable = _editable(current, f"contact point {name}")
        yield Change(
            "update", "contact point", name, tuple(lines),
            lambda: grafana.call(
                "PUT", f"{path}/{wanted['uid']}", wanted, keep_editable=editable, doing=f"updating contact point {name}"
            ),
        )  # fmt: skip


def _shown(point: Json) -> Json:
    """Leave out what Grafana hides."""
    settings = {key: value for key, value in point["settings"].items() if key not in SECRET_SETTINGS}
    return {**point, "settings": settings}


def _all_contact_points(grafana: Grafana) -> list[Json]:
    found = grafana.find(f"{_PROVISIONING}/contact-points", "reading the contact points")
    return found if isinstance(found, list) else []


def _rules(settings: GrafanaSettings, grafana: Grafana) -> Iterator[Change]:
    for wanted in rule_groups(settings, FOLDER_UID):
        path = f"{_PROVISIONING}/folder/{FOLDER_UID}/rule-groups/{quote(wanted['title'])}"
        doing = f"the rule group {wanted['title']}"
        current = grafana.find(path, f"reading {doing}")
        lines: tuple[str, ...] = ()
        editable = True
        if current is not None:
            present = {rule["uid"]: rule for rule in current["rules"]}
            checked = [_editable(rule, f"rule {rule['title']}") for rule in present.values()]
            editable = all(checked)
            lines = tuple(_rule_lines(current, present, wanted))
            if not lines:
                continue
        yield Change(
            "create" if current is None else "update", "rule group", wanted["title"], lines,
            lambda path=path, wanted=wanted, editable=editable, doing=doing: grafana.call(  # type: ignore[misc]
                "PUT", path, wanted, keep_editable=editable, doing=f"saving {doing}"
            ),
        )  # fmt: skip


def _rule_lines(current: Json, present: dict[str, Json], wanted: Json) -> Iterator[str]:
    if current["interval"] != wanted["interval"]:
        yield f"~ interval: {current['interval']} → {wanted['interval']}"
    for rule in wanted["rules"]:
        before = present.pop(rule["uid"], None)
        if before is None:
            yield f"+ {rule['title']}"
            continue
        # Labels and annotations are wholly ours; of the rest Grafana adds fields of its own.
        compared = {**only(before, rule), **{key: before.get(key) or {} for key in ("labels", "annotations")}}
        if "notification_settings" not in rule and before.get("notification_settings"):
            yield f"- {rule['title']}.notification_settings"
        yield from differences(compared, rule, rule["title"])
    for gone in present.values():
        yield f"- {gone['title']}"


def _leftovers(settings: GrafanaSettings, grafana: Grafana) -> Iterator[Change]:
    """Remove what was ours and is no more: rules before the contact points that they name."""
    for rule in grafana.find(f"{_PROVISIONING}/alert-rules", "reading the rules") or []:
        ours = rule["uid"].startswith(UID_PREFIX) and rule.get("folderUID") == FOLDER_UID
        if ours and rule.get("ruleGroup") not in (RUNS, OBSERVER):
            yield _remove(grafana, "rule", rule["title"], f"{_PROVISIONING}/alert-rules/{rule['uid']}")
    wanted = {point["uid"] for point in contact_points(settings, secrets=True)}
    for point in _all_contact_points(grafana):
        if (
            point["uid"].startswith(f"{UID_PREFIX}contact-")
            and point["name"] == NAME
            and point["uid"] not in wanted
        ):
            path = f"{_PROVISIONING}/contact-points/{point['uid']}"
            yield _remove(grafana, "contact point", f"{point['name']} ({point['type']})", path)
    known_uids = {made["uid"] for made in dashboards(settings)}
    query = f"/search?type=dash-db&tag={TAG}&folderUIDs={FOLDER_UID}&limit=1000"
    for found in grafana.find(query, "looking for dashboards of ours") or []:
        if found["uid"] not in known_uids and found.get("folderUid") == FOLDER_UID:
            yield _remove(grafana, "dashboard", found["uid"], f"/dashboards/uid/{found['uid']}")


def _remove(grafana: Grafana, kind: str, name: str, path: str) -> Change:
    return Change(
        "delete", kind, name, (), lambda: grafana.call("DELETE", path, doing=f"removing {kind} {name}")
    )


def _editable(current: Any, name: str) -> bool:
    """Tell whether to push with the header that keeps a thing editable. Raises NotOurs for what files keep."""
    provenance = "" if current is None else current.get("provenance", "")
    if provenance in ("", None):
        return True
    if provenance == _EDITABLE:
        return False
    raise NotOurs(
        f"{name} is kept by {provenance!r} on that Grafana: change it there, or remove it there first"
    )
