"""Fixtures of the collector's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headcount_collector.replay.run import Replayer


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    """Replay over one throw-away store for a module."""
    opened = Replayer.open()
    yield opened
    opened.close()
