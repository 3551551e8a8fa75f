"""What a person reads of a verdict, in a wide terminal and a narrow one; and how the demo tells incidents apart."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer
from rich.console import Console, RenderableType
from rich.text import Text

from headcount_collector.cli.run import page_of_run
from headcount_collector.cli.runs import page_of_runs
from headcount_collector.cli.story import EXPECTED, EXPECTED_CLASSES, EXPECTED_SIGNALS, STORY, Seen
from headcount_collector.cli.words import CLASS_WORDS, LEANING_WORDS, STATUS_WORDS, finding, status_text
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import STATUSES, Receipts, Signal, Verdict
from headcount_collector.watch.documents import Document, document_of

T0 = 1_796_000_000 * SECOND
NOW = T0 + 125 * SECOND
RUN = Verdict(
    session="s1",
    run="r1",
    at=NOW,
    status="active",
    rule="9",
    since=T0,
    agent="reviewer",
    service="here",
    names=("r1", "alias-1"),
    receipts=Receipts("r1", dispatch_at=T0),
    last_progress_at=T0 + 5 * SECOND,
    in_flight=("tool Read since 2026-11-30 00:54:00Z",),
    evidence=("rule 9: in time",),
)
WRONG = replace(
    RUN,
    status="done_but_not_forwarded",
    failure_class="done_but_not_forwarded",
    severity="page",
    abnormal_since=T0 + 60 * SECOND,
    ended_at=T0 + 30 * SECOND,
    outcome="ok",
    result_location="file:///answers/r1.md",
    would_change=("a completion forwarded to the owner", "a dismissal"),
    signals=(Signal("idle_stall", T0 + 65 * SECOND, "warn", "no progress since 2026-11-30 00:53:25Z"),),
)


def shown(renderable: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page(*verdicts: Verdict, total: int | None = None, observer: str = "ok") -> dict[str, object]:
    return {
        "runs": [document_of(verdict) for verdict in verdicts],
        "total": len(verdicts) if total is None else total,
        "offset": 0,
        "observer": observer,
    }


def whole(verdict: Verdict, **more: object) -> Document:
    return {**document_of(verdict), "timeline": [], "transitions": [], **more}


def test_a_wide_table_has_a_column_for_each_thing() -> None:
    text = shown(page_of_runs(page(RUN), NOW), 140)
    assert text.splitlines()[0].split() == "STATUS RUN AGENT OWNER AGE PROGRESS WHAT".split()
    assert text.splitlines()[1].split()[:10] == "● at work r1 reviewer root 2m 5s 2m ago".split()
    assert "nothing wrong" in text


def test_a_narrow_table_says_the_same_below_the_run() -> None:
    text = shown(page_of_runs(page(RUN, WRONG), NOW), 80)
    assert max(map(len, text.splitlines())) <= 80
    for said in ("reviewer for root", "progress 2m ago", "idle stall", "file:///answers/r1.md"):
        assert said in text
    assert "1 with something wrong" in text
    assert "no progress" in shown(page_of_runs(page(replace(RUN, last_progress_at=None)), NOW), 80)


def test_the_last_line_counts_what_is_there() -> None:
    assert "2 of 7 runs" in shown(page_of_runs(page(RUN, WRONG, total=7), NOW), 140)
    assert "1 run, nothing wrong" in shown(page_of_runs(page(RUN), NOW), 140)
    assert "silence does not count yet" in shown(page_of_runs(page(RUN, observer="degraded"), NOW), 140)


def test_a_signal_alone_is_something_wrong() -> None:
    alarming = replace(RUN, signals=(Signal("zero_progress", T0, "warn", "nothing"),))
    assert "1 with something wrong" in shown(page_of_runs(page(alarming), NOW), 140)
    hint = replace(RUN, signals=(Signal("model_changed", T0, "info", "other"),))
    assert "nothing wrong" in shown(page_of_runs(page(hint), NOW), 140)


@pytest.mark.parametrize(
    ("verdict", "status", "words"),
    [
        (RUN, "● at work", "tool Read since"),
        (replace(RUN, ended_at=NOW), "● ended", "its owner is yet to be told"),
        (replace(RUN, held=True), "● at work (held)", "tool Read"),
        (
            replace(RUN, status="completed", delivered_at=NOW, quality="full"),
            "✓ completed",
            "delivered in full",
        ),
        (replace(RUN, status="completed", delivered_at=NOW, quality="unknown"), "✓ completed", "delivered"),
        (
            replace(RUN, status="recovered", delivered_at=NOW, quality="cut", outcome="error"),
            "✓ recovered",
            "delivered, but cut, outcome error",
        ),
        (replace(RUN, status="completed", outcome="dismissed"), "✓ dismissed", "void: nobody waits"),
        (WRONG, "■ done, not delivered", "fetch it, do not dispatch again"),
        (
            replace(
                RUN, status="suspect_delivery_failure", failure_class="unclear_slow_or_lost", leaning="silent"
            ),
            "▲ overdue",
            "slow or lost: it has gone silent",
        ),
    ],
)
def test_a_verdict_in_words(verdict: Verdict, status: str, words: str) -> None:
    document = document_of(verdict)
    assert status_text(document).plain == status
    assert words in finding(document)


def test_every_status_class_and_leaning_has_words() -> None:
    from headcount_collector.judge import classes

    assert set(STATUS_WORDS) == set(STATUSES)
    source = vars(classes)["__file__"]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for word in (*CLASS_WORDS, *LEANING_WORDS):
        assert f'"{word}"' in text


def test_the_page_of_a_run_says_what_is_missing_since_when() -> None:
    timeline = [
        {"at": "2026-11-30T00:53:20.000Z", "event": "dispatch", "text": "dispatched"},
        {"at": "2026-11-30T00:54:20.000Z", "event": "kill", "text": "killed"},
    ]
    transitions = [
        {
            "believed_at": "2026-11-30T00:54:21.000Z",
            "from": "active",
            "to": "blocked",
            "reason": "rule 4",
            "late": True,
        }
    ]
    text = shown(page_of_run(whole(WRONG, timeline=timeline, transitions=transitions), NOW), 120)
    for said in (
        "missing: a completion forwarded to the owner; since",
        "idle stall (warn, for 1m)",
        "+1m",
        "result lies at",
        "file:///answers/r1.md",
        "also known as   alias-1",
        "active → blocked  rule 4, learned late",
    ):
        assert said in text, said
    assert "a dismissal" not in text


def test_the_demo_notes_what_turned_and_what_was_missed() -> None:
    seen = Seen(T0)
    assert len(seen.missed()) == len(EXPECTED) + len(EXPECTED_CLASSES) + sum(
        map(len, EXPECTED_SIGNALS.values())
    )
    assert set(STORY) == set(EXPECTED)
    for run, statuses in EXPECTED.items():
        signals = tuple(Signal(name, T0, "warn", "so") for name in EXPECTED_SIGNALS.get(run, ()))
        for status in statuses:
            verdict = replace(
                RUN, run=run, status=status, signals=signals, failure_class=EXPECTED_CLASSES.get(run)
            )
            seen.add(document_of(verdict), NOW)
            assert seen.add(document_of(verdict), NOW) == []
    assert seen.missed() == []
    lines = [line.plain for line in seen.log]
    assert any("lost-delivery is now ✓ recovered" in line for line in lines)
    assert any("zero-tools: zero progress" in line for line in lines)


def test_the_page_of_a_run_says_what_would_change_it_though_nothing_is_wrong() -> None:
    right = whole(replace(RUN, would_change=("the child's end", "a dismissal"), outcome="ok"))
    text = shown(page_of_run(right, NOW), 120)
    assert "would change it: the child's end, or a dismissal" in text
    assert re.search(r"ended +ok *$", text, re.MULTILINE)


def _texts(command: Any) -> Iterator[str]:
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", "") or ""
    for below in getattr(command, "commands", {}).values():
        yield from _texts(below)


def test_no_word_of_any_help_is_taken_for_markup() -> None:
    app = typer.Typer()
    for found in entry_points(group="headcount.commands"):
        found.load()(app)
    texts = list(_texts(typer.main.get_command(app)))
    assert len(texts) > 100
    for text in texts:
        assert Text.from_markup(text).plain == text.replace("\\[", "["), text
