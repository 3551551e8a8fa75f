"""The patterns of docs/instrumentation.md for plain asyncio, threads and workers, each run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headcount import testing

DOCUMENT = Path(__file__).parents[2] / "docs" / "instrumentation.md"
EXAMPLES = re.findall(r"<!-- runs: (.+?) -->\n```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


@pytest.mark.parametrize(("name", "code"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_runs_and_leaves_nothing_undelivered(name: str, code: str) -> None:
    with testing.record() as recorder:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})  # noqa: S102  # our own document
    dispatched = recorder.events_of("dispatch")
    assert dispatched, "an example dispatches at least one child"
    assert recorder.undelivered() == []
    done = {event.run for event in recorder.events_of("child_done")}
    assert {event.run for event in dispatched} == done


def test_there_is_an_example_for_each_pattern() -> None:
    assert [name for name, _ in EXAMPLES] == [
        "one line",
        "asyncio",
        "threads",
        "a queue and its worker",
        "another process",
        "a stream",
        "your own test",
    ]
