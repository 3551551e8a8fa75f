"""What the tests of real harnesses share: a collector for each test, and what it expects of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.running import Running, running_collector


@pytest.fixture
def policy() -> dict[str, str]:
    """Return what is expected of runs: the contract's own times, in which what comes back comes back in time."""
    return {}


@pytest.fixture
def running(policy: dict[str, str], tmp_path: Path) -> Iterator[Running]:
    """Run a collector that judges by `policy`."""
    with running_collector(tmp_path / "data", policy=policy) as found:
        yield found
