"""Which part may import which: the shim stays light, the judge stays pure, and the rooms stand in one order."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLLECTOR = ROOT / "collector/headcount_collector"

MAY_NOT = {
    "instrumentation/headcount": ("headcount_collector", "headcount_dashboards", "headcount_alerts"),
    "collector/headcount_collector": ("headcount", "headcount_dashboards", "headcount_alerts"),
}
ROOMS = {
    "judge": (),
    "store": (),
    "evidence": (),
    "receive": ("store", "evidence"),
    "derive": ("store", "judge", "evidence"),
    "watch": ("store", "judge", "derive", "evidence"),
    "replay": ("store", "judge", "evidence", "derive", "watch", "receive"),
}
"""What each room of the collector may import of the others."""


def imported(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every module that the files below a folder import, by its full name."""
    for path in folder.rglob("*.py"):
        package = ".".join(path.relative_to(ROOT).parts[1:-1])
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package.rsplit(".", node.level - 1)[0] if node.level else ""
                yield path, ".".join(part for part in (above, node.module) if part)


@pytest.mark.parametrize("folder", MAY_NOT)
def test_the_packages_meet_on_the_wire_only(folder: str) -> None:
    wrong = [
        (str(path), name) for path, name in imported(ROOT / folder) if name.split(".")[0] in MAY_NOT[folder]
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_only_what_is_before_it(room: str) -> None:
    others = {path.name for path in COLLECTOR.iterdir() if path.is_dir()} - {room, *ROOMS[room]}
    wrong = [
        (path.name, name)
        for path, name in imported(COLLECTOR / room)
        if name.startswith("headcount_collector.") and name.split(".")[1] in others
    ]
    assert wrong == []


def test_the_judge_needs_the_standard_library_only() -> None:
    allowed = {*sys.stdlib_module_names, "headcount_collector"}
    assert {name.split(".")[0] for _, name in imported(COLLECTOR / "judge")} <= allowed


def test_the_shim_loads_no_exporter_and_nothing_of_the_collector_until_it_is_used() -> None:
    program = "import sys, headcount; print('\\n'.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert "headcount_collector" not in loaded
    assert "opentelemetry.exporter" not in loaded
    assert "typer" not in loaded.split()
