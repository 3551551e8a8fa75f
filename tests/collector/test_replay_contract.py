"""The replay cases of the contract hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.evidence.replay_file import read_replay_file
from headcount_collector.replay.run import Replayer

CASES = sorted((Path(__file__).parent.parent / "cases").glob("[0-9][0-9]-*.jsonl"))


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    opened = Replayer.open()
    yield opened
    opened.close()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_case_holds(path: Path, replayer: Replayer) -> None:
    report = replayer.replay(read_replay_file(path))
    assert report.checked > 0
    assert report.unjudged == {}
    assert [str(miss) for miss in report.misses] == []
