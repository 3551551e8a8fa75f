"""Alert rules of Grafana: one for each class, for each paging signal, and for the silence of headcount itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headcount_alerts.wording import CLASSES, SIGNALS, Words
from headcount_dashboards import links
from headcount_dashboards.contacts import receiver_of
from headcount_dashboards.fleet import fleet
from headcount_dashboards.panels import PLUGIN, Json
from headcount_dashboards.queries import Query, sql
from headcount_dashboards.settings import GrafanaSettings

UID_PREFIX = "hc-"
"""Rules, contact points and nothing else of ours begin with it; Grafana's uids have at most 40 characters."""
PAGING = (
    "not_started",
    "limit_overrun",
    "hidden_wait",
    "structurally_mute",
    "premature_owner_final",
    "premature_completion",
    "contradicted_outcome",
    "misdelivered",
    "orphaned",
)
"""Signals that page. `delivered_not_consumed` is told as a class, and so not twice."""
RUNS = "headcount runs"
OBSERVER = "headcount observer"
INTERVAL_S = 30
_WINDOW_S = 600
_RUN_TITLE = "{{ $labels.run }}{{ if $labels.agent }} of {{ $labels.agent }}{{ end }}"
_WHO = (
    "Owner: {{ $labels.owner }} in session {{ $labels.session }}"
    "{{ if $labels.service }}, service {{ $labels.service }}{{ end }}"
    "{{ if $labels.environment }}, environment {{ $labels.environment }}{{ end }}"
)
_DETAILS = (
    "{{ if $values.B.Labels.task }}Task: {{ $values.B.Labels.task }}\n{{ end }}"
    "Last progress: {{ if $values.B.Labels.progressed }}{{ humanizeDuration $values.B.Value }} ago"
    "{{ else }}none{{ end }}"
    "{{ if $values.B.Labels.in_flight }}\nIn flight: {{ $values.B.Labels.in_flight }}{{ end }}"
    "{{ if $values.B.Labels.result }}\nResult: {{ $values.B.Labels.result }}{{ end }}"
    "{{ if $values.B.Labels.recover }}\nFetch it: {{ $values.B.Labels.recover }}{{ end }}"
)
"""What changes while an alert holds, from its second query."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `queries` are (ref, query); the first decides: it alerts above `above`, row by row.

    Grafana gives an alert the rows of the other queries whose labels contain its own, so that a message can say what
    changes while the alert holds.
    """

    uid: str
    title: str
    group: str
    queries: Sequence[tuple[str, Query]]
    annotations: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    above: float = -1
    for_s: int = 0
    empty_is: str = "OK"
    """noDataState: no row is health for runs, and never health for the observer."""
    on_runs: bool = True
    """Whether headcount tells people of this itself, unless Grafana does."""


def rules() -> list[Rule]:
    """List every rule."""
    return [
        *(_class_rule(name, words) for name, words in CLASSES.items()),
        *(_signal_rule(name, SIGNALS[name]) for name in PAGING),
        _UNINSTRUMENTED,
        _SILENT,
        _DEGRADED,
    ]


def rule_groups(settings: GrafanaSettings, folder_uid: str) -> list[Json]:
    """Return the groups as the provisioning API takes them: title, folderUid, interval in seconds, rules."""
    panel = next(p["id"] for p in fleet(settings)["panels"] if p["title"] == "What needs somebody")
    return [
        {
            "title": group,
            "folderUid": folder_uid,
            "interval": INTERVAL_S,
            "rules": [
                {
                    **_rule(rule, settings, panel),
                    "folderUID": folder_uid,
                    "ruleGroup": group,
                    "orgID": 1,
                }
                for rule in rules()
                if rule.group == group
            ],
        }
        for group in (RUNS, OBSERVER)
    ]


def _rule(rule: Rule, settings: GrafanaSettings, panel: int) -> Json:
    # An outage of the database is told once, by the observer's rule: those on runs keep what they last knew, so that
    # it neither resolves nor raises anything.
    told_by_headcount = rule.on_runs and not settings.notifies
    receiver = None if told_by_headcount else receiver_of(settings)
    annotations = dict(rule.annotations)
    if rule.on_runs:
        annotations |= _links(settings)
    made: Json = {
        "uid": rule.uid,
        "title": rule.title,
        "condition": "C",
        "data": [
            *(_query(settings, *query) for query in rule.queries),
            _condition(rule.queries[0][0], rule.above),
        ],
        "noDataState": rule.empty_is,
        "execErrState": "KeepLast" if rule.on_runs and settings.notifies else "Alerting",
        "for": _duration(rule.for_s),
        "annotations": {**annotations, "__dashboardUid__": links.FLEET, "__panelId__": str(panel)},
        "labels": {"source": "headcount", **rule.labels},
        "isPaused": told_by_headcount,
    }
    if receiver is not None:
        made["notification_settings"] = {
            "receiver": receiver,
            "group_by": ["grafana_folder", "alertname", *(["session", "owner"] if rule.on_runs else [])],
            "group_wait": "10s",
            "group_interval": "1m",
            "repeat_interval": "4h",
        }
    return made


def _duration(seconds: int) -> str:
    """Return a length of time as Grafana gives it back, so that what was pushed does not differ from what is there."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m" if minutes and not rest else f"{seconds}s"


def _query(settings: GrafanaSettings, ref: str, query: Query) -> Json:
    return {
        "refId": ref,
        "queryType": "",
        "relativeTimeRange": {"from": _WINDOW_S, "to": 0},
        "datasourceUid": settings.datasource_uid,
        "model": {
            "refId": ref,
            "datasource": {"type": PLUGIN, "uid": settings.datasource_uid},
            "editorType": "sql",
            "format": 1,
            "queryType": "table",
            "rawSql": sql(query),
            "meta": {},
            "intervalMs": 1000,
            "maxDataPoints": 43200,
        },
    }


def _condition(ref: str, above: float) -> Json:
    return {
        "refId": "C",
        "queryType": "",
        "relativeTimeRange": {"from": 0, "to": 0},
        "datasourceUid": "__expr__",
        "model": {
            "refId": "C",
            "datasource": {"type": "__expr__", "uid": "__expr__"},
            "type": "math",
            "expression": f"${ref} > {above:g}",
            "intervalMs": 1000,
            "maxDataPoints": 43200,
        },
    }


def _links(settings: GrafanaSettings) -> dict[str, str]:
    grafana = settings.public_url or settings.url
    found = {
        "run": f"{grafana}/d/{links.RUN}?var-session={{{{ $labels.session | urlquery }}}}"
        "&var-run={{ $labels.run | urlquery }}"
    }
    if settings.page_url:
        found["page"] = (
            f"{settings.page_url}/runs/{{{{ $labels.run | urlquery }}}}?session={{{{ $labels.session | urlquery }}}}"
        )
    return found


def _class_rule(name: str, words: Words) -> Rule:
    values = {"failure_class": name}
    return Rule(
        uid=f"{UID_PREFIX}class-{name}",
        title=name.replace("_", " "),
        group=RUNS,
        queries=[("A", Query("rules/class", values)), ("B", Query("rules/class_details", values))],
        labels={"failure_class": name},
        annotations={
            "summary": f"{_RUN_TITLE} {words.what}, for {{{{ humanizeDuration $values.A.Value }}}}",
            "description": _described(words),
        },
    )


def _described(words: Words) -> str:
    """Return what the text of headcount's own messages says: who, what moves, where it lies, what to do and what not."""
    lines = [_WHO, _DETAILS, f"Do: {words.do}", f"Mind: {words.never}" if words.never else ""]
    return "\n".join(line for line in lines if line)


def _signal_rule(name: str, words: Words) -> Rule:
    values = {"signal": name}
    return Rule(
        uid=f"{UID_PREFIX}signal-{name}",
        title=f"signal: {name.replace('_', ' ')}",
        group=RUNS,
        queries=[("A", Query("rules/signal", values)), ("B", Query("rules/signal_details", values))],
        labels={"signal": name},
        annotations={
            "summary": f"{_RUN_TITLE} {words.what}, for {{{{ humanizeDuration $values.A.Value }}}}",
            "description": _described(words),
        },
    )


_UNINSTRUMENTED = Rule(
    uid=f"{UID_PREFIX}uninstrumented",
    title="children that nobody hears",
    group=RUNS,
    queries=[("A", Query("rules/uninstrumented"))],
    labels={"failure_class": "unclear_slow_or_lost", "severity": "warn"},
    above=0,
    annotations={
        "summary": "No child of agent type {{ $labels.agent }} in service {{ $labels.service }} was ever heard; "
        "{{ $values.A.Value }} of them are overdue",
        "description": "These children are not instrumented: nothing can be said of them but that they are late.",
    },
)

_SILENT = Rule(
    uid=f"{UID_PREFIX}observer-silent",
    title="headcount judges nothing",
    group=OBSERVER,
    queries=[("A", Query("rules/observer_silent"))],
    labels={"severity": "page"},
    above=60,
    for_s=30,
    empty_is="Alerting",
    on_runs=False,
    annotations={
        "summary": "headcount has judged nothing for {{ humanizeDuration $values.A.Value }}",
        "description": "Until it does, no other alert of headcount can fire or resolve. See whether `headcount serve` "
        "runs and reaches its database.",
    },
)

_DEGRADED = Rule(
    uid=f"{UID_PREFIX}observer-degraded",
    title="headcount may be blind",
    group=OBSERVER,
    queries=[("A", Query("rules/observer_degraded"))],
    labels={"severity": "warn"},
    above=0,
    for_s=120,
    empty_is="Alerting",
    on_runs=False,
    annotations={
        "summary": "headcount hears none of its producers",
        "description": "It opens nothing that rests on absence meanwhile. See the observer's dashboard for who fell silent.",
    },
)
