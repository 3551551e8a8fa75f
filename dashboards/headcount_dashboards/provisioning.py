"""Writes everything as files that a Grafana reads when it starts: for a container, or for a Git repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from headcount_dashboards.all_dashboards import dashboards
from headcount_dashboards.contacts import TEMPLATE_NAME, contact_points, message_template
from headcount_dashboards.datasource import datasource
from headcount_dashboards.panels import Json
from headcount_dashboards.rules import rule_groups
from headcount_dashboards.settings import GrafanaSettings

FOLDER_UID = "headcount"
MOUNTED_AT = "/etc/grafana/provisioning"
"""Where Grafana's image looks; the dashboards' provider must name it."""
_DASHBOARDS = "dashboards/headcount"
_HEAD = "# Written by `headcount grafana render`: change the settings and render again, not this file.\n"


def files_of(settings: GrafanaSettings, mounted_at: str = MOUNTED_AT) -> dict[str, str]:
    """Return every file: path under the provisioning folder → text. The same settings give the same bytes."""
    found = {
        f"{_DASHBOARDS}/{made['uid']}.json": json.dumps(made, ensure_ascii=False, indent=2) + "\n"
        for made in dashboards(settings)
    }
    found["dashboards/headcount.yaml"] = _yaml(
        providers=[
            {
                "name": "headcount",
                "orgId": 1,
                "folder": settings.folder,
                "folderUid": FOLDER_UID,
                "type": "file",
                "disableDeletion": False,
                "allowUiUpdates": False,
                "updateIntervalSeconds": 30,
                "options": {"path": f"{mounted_at.rstrip('/')}/{_DASHBOARDS}"},
            }
        ]
    )
    if settings.manage_datasource:
        found["datasources/headcount.yaml"] = _yaml(
            datasources=[{"orgId": 1, **datasource(settings, secrets=False)}]
        )
    found["alerting/headcount-rules.yaml"] = _yaml(
        groups=[_group(settings, group) for group in rule_groups(settings, FOLDER_UID)]
    )
    found["alerting/headcount-templates.yaml"] = _yaml(
        templates=[{"orgId": 1, "name": TEMPLATE_NAME, "template": message_template()}]
    )
    if points := contact_points(settings, secrets=False):
        found["alerting/headcount-contact-points.yaml"] = _yaml(
            contactPoints=[
                {
                    "orgId": 1,
                    "name": points[0]["name"],
                    "receivers": [{k: v for k, v in point.items() if k != "name"} for point in points],
                }
            ]
        )
    return found


def render(
    settings: GrafanaSettings, out: Path, mounted_at: str = MOUNTED_AT
) -> tuple[list[Path], list[Path]]:
    """Write the files under `out`; return those written and those of ours removed since they are no more."""
    wanted = {out / name: text for name, text in files_of(settings, mounted_at).items()}
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    gone = [path for path in _ours(out) if path not in wanted]
    for path in gone:
        path.unlink()
    return sorted(wanted), gone


def _ours(out: Path) -> Iterator[Path]:
    yield from sorted((out / _DASHBOARDS).glob("*.json"))
    for folder in ("alerting", "datasources"):
        yield from sorted((out / folder).glob("headcount*.yaml"))


def _group(settings: GrafanaSettings, group: Json) -> Json:
    return {
        "orgId": 1,
        "name": group["title"],
        "folder": settings.folder,
        "interval": f"{group['interval']}s",
        "rules": [_rule(rule) for rule in group["rules"]],
    }


def _rule(rule: Json) -> Json:
    """Turn the API's form of a rule into that of files: the panel has fields of its own there."""
    made = {key: value for key, value in rule.items() if key not in ("folderUID", "ruleGroup", "orgID")}
    annotations = dict(rule["annotations"])
    made["dashboardUid"] = annotations.pop("__dashboardUid__")
    made["panelId"] = int(annotations.pop("__panelId__"))
    made["annotations"] = annotations
    return made


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks that a person can read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _yaml(**content: Any) -> str:
    body = yaml.dump(
        {"apiVersion": 1, **content}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000
    )
    return _HEAD + body
