"""Every query runs on the real engine, with macros expanded as the data source does, and answers in its panel's form."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.store.client import Store
from headcount_collector.store.errors import StoreError
from headcount_dashboards import queries
from headcount_dashboards.panels import Json
from headcount_dashboards.rules import PAGING
from tests.dashboards import world
from tests.dashboards.asked import (
    DASHBOARDS,
    Frame,
    all_panels,
    all_rules,
    ask,
    ask_panel,
    ask_rule,
    is_number,
    is_text,
    is_time,
    rule_queries,
)
from tests.dashboards.conftest import Database, database_of, scene_of
from tests.dashboards.macros import ALL, Scene, expand, expand_macros

PANELS = all_panels()
RULES = all_rules()
by_title = pytest.mark.parametrize(("name", "panel"), PANELS, ids=[name for name, _ in PANELS])
by_rule = pytest.mark.parametrize("rule", RULES, ids=[rule["title"] for rule in RULES])
TRACE = "traceID spanID parentSpanID operationName serviceName startTime duration tags serviceTags statusCode".split()


@by_title
def test_a_panel_gets_the_columns_that_its_kind_needs(name: str, panel: Json, played: Database) -> None:
    frames = [ask_panel(played.store, target, played.scene) for target in panel["targets"]]
    for frame in frames:
        _CHECKS[panel["type"]](panel, frame)
    assert any(frame.rows for frame in frames) or name in _QUIET, "the world has nothing for it"
    named = {column for frame in frames for column in frame.names}
    for column in _fields_of_links(panel):
        assert column in named
    for override in panel["fieldConfig"]["overrides"]:
        assert panel["type"] == "timeseries" or override["matcher"]["options"] in named


@by_title
def test_a_panel_over_nothing_says_what_that_means(name: str, panel: Json, empty: Database) -> None:
    assert panel["fieldConfig"]["defaults"]["noValue"]
    for target in panel["targets"]:
        rows = empty.store.query(expand(target["rawSql"], empty.scene))
        if panel["type"] == "stat":
            assert len(rows) <= 1
            assert all(value in (0, None, "nothing was dispatched") for row in rows for value in row)
        elif panel["type"] == "timeseries":
            assert all(value == 0 for row in rows for value in row if isinstance(value, (int, float)))
        else:
            assert "store" in name.lower() or not rows


@by_title
def test_a_panel_runs_over_many_runs(name: str, panel: Json, crowded: Database) -> None:
    month = replace(crowded.scene, start_s=crowded.scene.end_s - 30 * 86400, interval_s=3600)
    for target in panel["targets"]:
        rows = crowded.store.query(expand(target["rawSql"], month))
        assert len(rows) <= 20_000, "more than a browser can show"


@by_title
def test_a_panel_takes_any_words_as_variables(name: str, panel: Json, empty: Database) -> None:
    hostile = {
        "environment": ["it's on"],
        "service": ["shop's service", "x) OR (1=1"],
        "agent": ["a,b", "c'"],
        "owner": ["root", "it's"],
    }
    scene = replace(empty.scene, variables={**hostile, "session": "it's", "run": "r' OR 1=1 --"})
    for target in panel["targets"]:
        empty.store.query(expand(target["rawSql"], scene))


@by_rule
def test_a_rule_has_labels_and_one_number(
    rule: Json, played: Database, empty: Database, crowded: Database
) -> None:
    frames = []
    for query in rule_queries(rule):
        assert len(crowded.store.query(expand_macros(query["model"]["rawSql"], crowded.scene))) <= 500
        for database in (played, empty):
            frame = ask_rule(database.store, query, database.scene)
            numbers = [kind for kind in frame.types if is_number(kind)]
            assert len(numbers) == 1
            texts = ("String", "LowCardinality(String)")
            assert all(kind in texts for kind in frame.types if kind not in numbers)
            labels = [tuple(value for value in row if isinstance(value, str)) for row in frame.rows]
            assert len(set(labels)) == len(labels), "two rows would be one alert"
            frames.append(frame)
    assert frames[0].rows, "no run of this kind"


@by_rule
def test_a_rule_over_nothing_is_silent_unless_it_is_about_silence(rule: Json, empty: Database) -> None:
    query = rule_queries(rule)[0]
    frame = ask_rule(empty.store, query, empty.scene)
    if rule["uid"] == "hc-observer-silent":
        assert frame.rows[0][0] > 60
        assert rule["noDataState"] == "Alerting"
    elif rule["uid"] == "hc-observer-degraded":
        assert frame.rows == [(0.0,)]
    else:
        assert frame.rows == []
        assert rule["noDataState"] == "OK"


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if len(rule_queries(rule)) == 2], ids=lambda r: r["title"]
)
def test_the_details_of_a_rule_contain_the_labels_of_its_alerts(rule: Json, played: Database) -> None:
    first, second = (ask_rule(played.store, query, played.scene) for query in rule_queries(rule))
    labels = first.names[:-1]
    assert second.names[: len(labels)] == labels
    assert [row[:-1] for row in first.rows] == [row[: len(labels)] for row in second.rows]


def test_an_environment_narrows_what_is_shown(played: Database) -> None:
    for title, kept in (("What needs somebody", "staging"), ("Incidents and their ladder", "production")):
        target = next(panel for _, panel in PANELS if panel["title"] == title)["targets"][0]

        def sessions(chosen: str, target: Json = target) -> set[str]:
            scene = replace(played.scene, variables={**played.scene.variables, "environment": [chosen]})
            return set(ask_panel(played.store, target, scene).column("session"))

        assert sessions("production") <= {world.SESSION}
        assert sessions("staging") <= {world.EVERY_KIND}
        assert sessions("nowhere") == set()
        assert sessions(kept)


def test_alerts_carry_the_environment_to_route_by(played: Database) -> None:
    rule = next(rule for rule in RULES if rule["uid"] == "hc-signal-orphaned")
    frame = ask_rule(played.store, rule_queries(rule)[0], played.scene)
    where = dict(zip(frame.column("session"), frame.column("environment"), strict=True))
    assert where[world.EVERY_KIND] == "staging"


def test_each_class_rule_lists_the_open_runs_of_its_class_and_no_other(played: Database) -> None:
    listed: dict[str, set[tuple[str, str]]] = {}
    for rule in RULES:
        if name := rule["labels"].get("failure_class"):
            frame = ask_rule(played.store, rule_queries(rule)[0], played.scene)
            if "run" in frame.names:
                listed[name] = set(zip(frame.column("session"), frame.column("run"), strict=True))
    rows = played.store.query(
        "SELECT session_id, run_id, failure_class FROM verdict FINAL"
        " WHERE is_abnormal AND leaning != 'uninstrumented' AND severity IN ('warn', 'page')"
    )
    for session, run, name in rows:
        assert [found for found, runs in listed.items() if (session, run) in runs] == [name]


def test_a_run_that_wakes_up_stays_listed_until_it_is_delivered(engine: object, played: Database) -> None:
    store = played.store
    rule = next(rule for rule in RULES if rule["uid"] == "hc-class-no_completion_event")

    def listed() -> bool:
        return "awake" in ask_rule(store, rule_queries(rule)[0], played.scene).column("run")

    def becomes(status: str, failure_class: str, version: int) -> None:
        was_open = status not in ("completed", "recovered")
        store.insert(
            "verdict",
            [("waking", "awake", status, failure_class, was_open, failure_class != "", "{}", version)],
            [
                "session_id",
                "run_id",
                "status",
                "failure_class",
                "is_open",
                "is_abnormal",
                "document",
                "version",
            ],
        )
        store.insert(
            "transition",
            [(version, version, "waking", "awake", status, failure_class, "page" if failure_class else "")],
            ["believed_at", "happened_at", "session_id", "run_id", "to_status", "failure_class", "severity"],
        )

    second = 1_000_000_000
    now = played.scene.end_s * second
    becomes("suspect_delivery_failure", "no_completion_event", now)
    assert listed()
    becomes("active", "", now + second)
    assert listed()
    becomes("recovered", "", now + 2 * second)
    assert not listed()


@pytest.mark.parametrize("signal", PAGING)
def test_a_signal_rule_lists_a_signal_only_while_it_holds(signal: str, played: Database) -> None:
    rule = next(rule for rule in RULES if rule["labels"].get("signal") == signal)
    runs = ask_rule(played.store, rule_queries(rule)[0], played.scene).column("run")
    assert f"signal-{signal}-page" in runs
    assert f"signal-{signal}-info" not in runs


def test_what_was_believed_over_time_ends_with_what_is_believed_now(crowded: Database) -> None:
    target = next(panel for _, panel in PANELS if panel["title"] == "Open runs by status")["targets"][0]
    frame = ask_panel(crowded.store, target, crowded.scene)
    last = {status: runs for _, status, runs in frame.rows}
    now = dict(crowded.store.query("SELECT status, count() FROM verdict FINAL WHERE is_open GROUP BY status"))
    assert last == now


def test_an_observer_with_nothing_to_judge_looks_well(engine: Store) -> None:
    quiet = database_of(engine, "quiet")
    now = int(time.time())
    rows = [((now - ago) * SECOND, 1, 0, 0, 0, 0, 0, 0, "ok", (now - ago) * SECOND) for ago in range(6, 600)]
    quiet.insert(
        "evaluation",
        rows,
        "at took_ns late_ns changed due judged transitions open_runs observer read_until".split(),
    )
    scene = scene_of(now, "", "")
    panels = {panel["title"]: panel for name, panel in PANELS if name.startswith("headcount-observer")}
    blind = ask_panel(quiet, panels["Blind"]["targets"][0], scene)
    assert {value for row in blind.rows for value in row[1:]} == {0}
    ((age,),) = ask_panel(quiet, panels["Last evaluation"]["targets"][0], scene).rows
    steps = panels["Last evaluation"]["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert age < steps[1]["value"]
    silent = next(rule for rule in RULES if rule["uid"] == "hc-observer-silent")
    ((waited,),) = ask_rule(quiet, rule_queries(silent)[0], scene).rows
    assert silent["data"][-1]["model"]["expression"] == "$A > 60"
    assert waited < 60
    quiet.close()


def test_a_time_account_adds_up(played: Database) -> None:
    target = next(panel for name, panel in PANELS if panel["title"].startswith("Benchmark view"))["targets"][
        0
    ]
    frame = ask_panel(played.store, target, played.scene)
    parts = [frame.column(name) for name in ("working", "waiting", "idle", "delivery")]
    for total, *of in zip(frame.column("total"), *parts, strict=True):
        assert sum(of) == pytest.approx(total, abs=0.01)
    assert any(value > 0 for value in parts[0])


def test_a_trace_holds_the_spans_of_its_session_only(played: Database) -> None:
    target = next(panel for _, panel in PANELS if panel["type"] == "traces")["targets"][0]
    session, run = "70-waiting-for-approval/s1", "r1"
    frame = ask_panel(
        played.store,
        target,
        replace(played.scene, variables={**played.scene.variables, "session": session, "run": run}),
    )
    ((here, everywhere),) = played.store.query(
        "SELECT countIf(SpanAttributes['session.id'] = {session:String}), count() FROM otel_traces"
        " WHERE SpanAttributes['subagent.run.id'] = {run:String}",
        {"session": session, "run": run},
    )
    assert len(frame.rows) == here < everywhere


def test_variables_offer_one_column_of_words(played: Database, empty: Database, crowded: Database) -> None:
    for dashboard in DASHBOARDS:
        for variable in dashboard["templating"]["list"]:
            if variable["type"] != "query":
                continue
            for database in (played, empty, crowded):
                frame = ask(database.store, expand(variable["query"], database.scene))
                assert len(frame.types) == 1
                assert is_text(frame.types[0])
                assert "" not in frame.column(frame.names[0])
            assert ask(played.store, expand(variable["query"], played.scene)).rows


def test_annotations_have_a_time_and_a_text(played: Database, empty: Database) -> None:
    for dashboard in DASHBOARDS:
        for annotation in dashboard["annotations"]["list"]:
            frame = ask(played.store, expand(annotation["target"]["rawSql"], played.scene))
            assert frame.names[0] == "time"
            assert is_time(frame.types[0])
            assert {"title", "text", "tags"} <= set(frame.names)
            assert frame.rows
            assert ask(empty.store, expand(annotation["target"]["rawSql"], empty.scene)).rows == []


def test_every_query_of_the_package_is_used() -> None:
    text = str(DASHBOARDS) + str(RULES)
    code = "".join(path.read_text() for path in Path(queries.__file__).parent.glob("*.py"))
    unused = [name for name in queries.names() if repr(queries.sql(name))[1:-1] not in text]
    assert [name for name in unused if f'Query("{name}", ' not in code] == []
    folder = Path(queries.__file__).parent / "queries"
    texts = "".join(path.read_text() for path in folder.rglob("*.sql"))
    assert [path.stem for path in folder.glob("parts/*.sql") if f"{{{{ {path.stem} }}}}" not in texts] == []


def _fields_of_links(panel: Json) -> Iterator[str]:
    for override in panel["fieldConfig"]["overrides"]:
        for found in override["properties"]:
            if found["id"] == "links":
                for link in found["value"]:
                    yield from re.findall(r"__data\.fields\.(\w+)", link["url"])


def _check_stat(panel: Json, frame: Frame) -> None:
    assert len(frame.rows) <= 1
    assert all(is_number(kind) for kind in frame.types) or [*map(is_text, frame.types)] == [True]


def _check_timeseries(panel: Json, frame: Frame) -> None:
    assert frame.names[0] == "time"
    assert is_time(frame.types[0])
    assert frame.column("time") == sorted(frame.column("time"))
    label = re.search(r"labels\.(\w+)", panel["fieldConfig"]["defaults"].get("displayName", ""))
    texts = [name for name, kind in zip(frame.names, frame.types, strict=True) if is_text(kind)]
    assert texts == ([label[1]] if label else [])
    keys = [
        (row[0], *(frame.names.index(name) and row[frame.names.index(name)] for name in texts))
        for row in frame.rows
    ]
    assert len(set(keys)) == len(keys)
    assert all(
        is_number(k) for n, k in zip(frame.names, frame.types, strict=True) if n not in ("time", *texts)
    )


def _check_table(panel: Json, frame: Frame) -> None:
    assert not any(kind.startswith(("Array", "Map", "Tuple", "Bool")) for kind in frame.types)
    assert len(frame.rows) <= 1000


def _check_bars(panel: Json, frame: Frame) -> None:
    over = panel["options"]["xField"]
    for name, kind in zip(frame.names, frame.types, strict=True):
        assert is_text(kind) if name == over else is_number(kind)


def _check_states(panel: Json, frame: Frame) -> None:
    assert frame.names[0] == "time"
    assert is_time(frame.types[0])
    assert all(is_text(kind) for kind in frame.types[1:])
    assert len(frame.names) == (3 if panel.get("transformations") else 2)
    assert frame.column("time") == sorted(frame.column("time"))


def _check_trace(panel: Json, frame: Frame) -> None:
    assert sorted(frame.names) == sorted(TRACE)
    assert len(set(frame.column("traceID"))) <= 1
    known = set(frame.column("spanID"))
    assert all(parent == "" or parent in known for parent in frame.column("parentSpanID"))


_CHECKS = {
    "stat": _check_stat,
    "timeseries": _check_timeseries,
    "table": _check_table,
    "barchart": _check_bars,
    "state-timeline": _check_states,
    "traces": _check_trace,
}
_QUIET = {"headcount-session: Duplicates", "headcount-session: Premature finals"}
"""Panels about a session that the chosen one has nothing for."""


def test_a_scene_without_choice_filters_nothing(played: Database) -> None:
    target = next(panel for _, panel in PANELS if panel["title"] == "What needs somebody")["targets"][0]
    chosen = replace(played.scene, variables={**played.scene.variables, "agent": ["nobody of that name"]})
    assert ask_panel(played.store, target, played.scene).rows
    assert ask_panel(played.store, target, chosen).rows == []
    assert Scene(0, 1, variables={"agent": ALL}).interval_s == 60


def test_the_embedded_store_serves_every_query_to_grafana(empty: Database) -> None:
    served = empty.store.dashboard_sql()
    targets = [
        (name, expand(target["rawSql"], empty.scene)) for name, panel in PANELS for target in panel["targets"]
    ]
    asked = [
        (rule["title"], expand_macros(query["model"]["rawSql"], empty.scene))
        for rule in RULES
        for query in rule_queries(rule)
    ]
    refused = []
    for name, sql in [*targets, *asked]:
        try:
            served.run(sql, {})
        except StoreError as error:
            refused.append((name, str(error)))
    assert refused == []
