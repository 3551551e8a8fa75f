"""Replays cases for the tests that go through them, a part each, so that the parts can run side by side."""

from __future__ import annotations

from pathlib import Path

from headcount_collector.evidence.replay_file import read_replay_file
from headcount_collector.replay.run import Replayer


def cases(pattern: str) -> list[Path]:
    """Return the cases whose file names match."""
    return sorted((Path(__file__).parent.parent / "cases").glob(pattern))


def misses(path: Path, replayer: Replayer) -> list[str]:
    """Return what of a case does not hold; a case that expects nothing, or something nobody judges, does not hold."""
    report = replayer.replay(read_replay_file(path))
    found = [str(miss) for miss in report.misses]
    if not report.checked:
        found.append("expects nothing")
    return found + [f"nobody judges {kind}" for kind in report.unjudged]
