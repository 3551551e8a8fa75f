"""What messages say: golden files for every class and signal, and telemetry that cannot do anything."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_alerts.conditions import Condition
from headcount_alerts.decision import Step
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.incident import Acknowledgement, Incident, Member
from headcount_alerts.message import document_of
from headcount_alerts.neutral import STYLES
from headcount_alerts.text import Texts
from headcount_alerts.wording import CLASSES, LEANINGS, SIGNALS
from headcount_collector.evidence import expectation

from .verdicts import T0, S

GOLDEN = Path(__file__).parent / "golden"
_TEXTS = Texts()


def incident(condition: Condition, **facts: Any) -> Incident:
    given: dict[str, Any] = {
        "agent": "reviewer",
        "service": "ci",
        "owner": "lead",
        "description": "Review the change",
        "dispatched_at": T0 - 1500 * S,
        "deadline": T0 - 600 * S,
        "ended_at": T0 - 780 * S,
        "last_progress_at": T0 - 800 * S,
        "in_flight": ["tool Bash since 2026-11-30 11:40:00Z"],
        "result_location": "file:///var/agents/review-17.jsonl",
    }
    found = Incident(
        "0a1b2c3d4e5f", "s1", "lead", condition.since, severity=condition.severity, level="notified", told=1
    )
    found.members["s1", "review-17"] = Member("s1", "review-17", (condition,), facts={**given, **facts})
    return found


def message(found: Incident, what: str = "notified", **parts: Any) -> dict[str, Any]:
    return document_of(
        found, Step(found.id, T0, what, 1, "review-17"), url="https://headcount.example", **parts
    )


CONDITIONS = {
    **{f"class-{name}": Condition("class", name, "page", T0 - 720 * S) for name in CLASSES},
    **{
        f"leaning-{name}": Condition("class", "unclear_slow_or_lost", "warn", T0 - 720 * S, leaning=name)
        for name in LEANINGS
    },
    **{f"signal-{name}": Condition("signal", name, "warn", T0 - 720 * S) for name in SIGNALS},
}


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("HEADCOUNT_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_class_and_signal_says_what_it_is_and_what_to_do(name: str) -> None:
    found = message(incident(CONDITIONS[name]))
    check(f"{name}.txt", _TEXTS.title(found) + "\n\n" + _TEXTS.body(found))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("what", ["notified", "closed", "fleet"])
def test_every_kind_of_channel_gets_its_own_text(style: str, what: str) -> None:
    found = incident(CONDITIONS["class-done_but_not_forwarded"])
    if what == "fleet":
        fleet = Incident("f1ee7f1ee7f1", "", "fleet", T0, "fleet", severity="page", parts=[found.id], told=1)
        text = message(fleet, "notified", parts=[found])
    else:
        found.is_open = what != "closed"
        text = message(found, what)
    check(f"style-{what}.{style}", _TEXTS.title(text, style) + "\n\n" + _TEXTS.body(text, style))


def test_every_class_and_signal_of_the_contract_has_words() -> None:
    assert set(CLASSES) == expectation.CLASSES
    assert set(LEANINGS) == expectation.LEANINGS
    assert set(SIGNALS) == expectation.SIGNALS


def test_a_message_leads_to_the_dashboard_of_its_run_and_says_who_is_on_it() -> None:
    found = incident(CONDITIONS["class-done_but_not_forwarded"])
    found.acknowledgement = Acknowledgement("anna @here", T0, T0 + 3600 * S)
    text = document_of(found, Step(found.id, T0, "updated", 2), url=None, grafana="https://grafana.example")
    began = (T0 - 1560 * S) // 10**6
    address = f"https://grafana.example/d/headcount-run?var-session=s1&var-run=review-17&from={began}&to=now"
    assert address in _TEXTS.body(text)
    assert address.replace("&", "&amp;") in _TEXTS.body(text, "html")
    assert "With: anna @\u200bhere, until 2026-11-30 13:00:00Z" in _TEXTS.body(text)
    later = document_of(found, Step(found.id, T0 + 3600 * S, "reminded", 3), url=None)
    assert (later["acknowledged"], later["dashboard"]) == (None, None)


def test_finished_work_is_never_to_be_dispatched_again() -> None:
    for name in ("class-done_but_not_forwarded", "class-delivered_not_consumed", "signal-misdelivered"):
        title = _TEXTS.title(message(incident(CONDITIONS[name])))
        assert "Do not dispatch it again: the work is done." in title


def test_the_first_line_fits_on_a_locked_telephone() -> None:
    for condition in CONDITIONS.values():
        title = _TEXTS.title(message(incident(condition)))
        assert "\n" not in title
        assert len(title) <= 178


def test_long_names_give_way_to_what_is_wrong_and_what_not_to_do() -> None:
    for name, condition in CONDITIONS.items():
        found = incident(condition, agent="reviewer-of-everything-" * 10)
        found.members = {
            ("s1", "r" * 200): Member(
                "s1", "r" * 200, (condition,), facts=next(iter(found.members.values())).facts
            )
        }
        plain = _TEXTS.title(message(incident(condition)))
        title = _TEXTS.title(message(found))
        assert len(title) <= 178
        assert title[-24:] == plain[-24:], name


@pytest.mark.parametrize("style", sorted(set(STYLES) - {"text"}))
def test_every_class_and_signal_in_the_text_of_every_kind_of_channel(style: str) -> None:
    texts = []
    for name, condition in CONDITIONS.items():
        found = message(incident(condition))
        texts.append(f"=== {name}\n{_TEXTS.title(found, style)}\n\n{_TEXTS.body(found, style)}")
    check(f"all.{style}", "\n".join(texts))


HOSTILE = (
    "@everyone @here <!channel> <at>all</at> <users/all> <@U1> <https://evil.example|click> [click](https://evil.example) **b** `c` "
    "<script>alert(1)</script> </b> javascript:alert(1) www.evil.example \u202egpj.exe\nSecond: line\r\n# head\x00\x1b[31m"
)


@pytest.mark.parametrize("style", STYLES)
def test_telemetry_injects_no_mention_link_markup_or_line(style: str) -> None:
    found = incident(
        CONDITIONS["class-done_but_not_forwarded"],
        agent=HOSTILE,
        description=HOSTILE,
        in_flight=[HOSTILE],
        result_location=HOSTILE,
    )
    text = message(found)
    body = _TEXTS.body(text, style)
    plain = _TEXTS.body(message(incident(CONDITIONS["class-done_but_not_forwarded"])), style)
    assert body.count("\n") == plain.count("\n")
    said = body.replace("https://headcount.example", "")
    assert "://" not in said.replace("file://", "")
    assert "evil.example" not in said
    assert "@everyone" not in said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", body)
    for loud in ("<!", "<@", "<at>", "<users/", "@here"):
        assert loud not in said
    if style in ("slack", "markdown"):
        assert "<" not in said
    if style == "markdown":
        assert "](" not in said
        assert "**b**" not in said
    if style == "html":
        assert "<script" not in said
        assert "</b>" not in said


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=400), st.sampled_from(sorted(STYLES)))
def test_any_text_becomes_one_short_line_without_links(text: str, style: str) -> None:
    line = STYLES[style](text)
    assert "\n" not in line
    assert "://" not in line
    assert not re.search("@[A-Za-z0-9]", line)
    assert len(STYLES["text"](text).replace("\u200b", "")) <= 300 + 3 * text.count(":") + 2 * text.count(".")


def test_names_as_they_are_used_stay_as_they_are() -> None:
    for name in (
        "main.py",
        "README.md",
        "deploy.sh",
        "run.1.2",
        "gpt-5.2-codex",
        "file:///srv/out/a.io.txt",
        "/srv/x.com",
        "c7#2",
        "agent_a1",
        "voyage:plan-critic",
        "/tmp/out.txt",
    ):
        for style in STYLES.values():
            assert style(name) == name


def test_a_template_of_the_user_takes_the_place_of_ours_and_cannot_reach_out(tmp_path: Path) -> None:
    (tmp_path / "title.txt").write_text("{{ severity }} for {{ agent }}")
    found = message(incident(CONDITIONS["class-owner_gone"], agent="@here"))
    texts = Texts(tmp_path)
    assert texts.title(found) == "page for @\u200bhere"
    assert texts.body(found) == _TEXTS.body(found)
    for bad in ("{{ ''.__class__.__mro__ }}", "{{ nothing_of_this_name }}", "{% for %}"):
        (tmp_path / "title.txt").write_text(bad)
        with pytest.raises(AlertsConfigError, match=r"template title\.txt"):
            Texts(tmp_path).title(found)


def test_a_nudge_cannot_be_taken_for_an_echo_of_the_task() -> None:
    text = _TEXTS.nudge(message(incident(CONDITIONS["class-done_but_not_forwarded"])))
    check("nudge.txt", text)
    assert text.startswith("HEADCOUNT RECOVERY 0a1b2c3d4e5f/1: this is a new message")
    assert "Review the change" not in text
