"""The replay cases made from reports of the field hold, first part."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount_collector.replay.run import Replayer

from .replaying import cases, misses


@pytest.mark.parametrize("path", cases("1[0-9][0-9]-*.jsonl"), ids=lambda path: path.stem)
def test_the_case_holds(path: Path, replayer: Replayer) -> None:
    assert misses(path, replayer) == []
