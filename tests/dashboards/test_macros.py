"""The expander of these tests does what the data source documents: its own examples, and what it refuses."""

from __future__ import annotations

import pytest

from tests.dashboards.macros import ALL, MacroError, Scene, expand, expand_macros

SCENE = Scene(1415792726, 1447328726, 20, {"agent": ["a", "b'c"], "all": [ALL], "session": "", "run": "r1"})


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("$__timeFilter(time)", "time >= toDateTime(1415792726) AND time <= toDateTime(1447328726)"),
        ("$__fromTime", "toDateTime(1415792726)"),
        ("$__toTime", "toDateTime(1447328726)"),
        ("$__interval_s", "20"),
        ("$__timeInterval(column)", "toStartOfInterval(toDateTime(column), INTERVAL 20 second)"),
        (
            "$__timeInterval(if(a, b, c))",
            "toStartOfInterval(toDateTime(if(a, b, c)), INTERVAL 20 second)",
        ),
    ],
)
def test_a_macro_becomes_what_the_documentation_says(sql: str, expanded: str) -> None:
    assert expand_macros(sql, SCENE) == expanded


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("$__conditionalAll(agent IN (${agent:singlequote}), $agent)", "agent IN ('a','b\\'c')"),
        ("$__conditionalAll(agent IN (${all:singlequote}), $all)", "1=1"),
        ("$__conditionalAll(s = ${session:singlequote}, $session)", "1=1"),
        ("run = ${run:singlequote}", "run = 'r1'"),
    ],
)
def test_a_variable_becomes_what_was_chosen(sql: str, expanded: str) -> None:
    assert expand(sql, SCENE) == expanded


@pytest.mark.parametrize(
    "sql",
    [
        "$__timeFilter(a, b)",
        "$__timeFilter",
        "$__noSuchMacro(a)",
        "$__fromTime(a)",
        "${other:singlequote}",
        "${run}",
        "$__conditionalAll(a)",
        "$__conditionalAll(a, $other)",
        "$__timeFilter(a",
    ],
)
def test_what_the_data_source_would_refuse_or_leave_is_an_error(sql: str) -> None:
    with pytest.raises(MacroError):
        expand(sql, SCENE)


def test_a_rule_cannot_use_what_only_the_browser_replaces() -> None:
    with pytest.raises(MacroError):
        expand_macros("$__conditionalAll(a = ${run:singlequote}, $run)", SCENE)


def test_an_interval_is_at_least_a_second() -> None:
    assert expand_macros("$__interval_s", Scene(0, 1, 0)) == "1"
