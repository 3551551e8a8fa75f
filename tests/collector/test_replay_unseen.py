"""Cases that were written from the contract's words alone, without a look at the other cases or at the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount_collector.replay.run import Replayer
from tests.collector.replaying import cases, misses


@pytest.mark.parametrize("path", cases("unseen/*.jsonl"), ids=lambda path: path.stem)
def test_the_case_holds(path: Path, replayer: Replayer) -> None:
    assert misses(path, replayer) == []
