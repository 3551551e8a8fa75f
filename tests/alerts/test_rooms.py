"""Who may import whom: the alerts the collector, and nobody the alerts."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported(folder: str) -> set[str]:
    found: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return {name for name in found if name.startswith("headcount")}


def test_the_collector_imports_nothing_of_the_alerts() -> None:
    for folder in ("collector", "instrumentation"):
        assert "headcount_alerts" not in imported(folder)


def test_the_alerts_import_the_collector_only() -> None:
    assert imported("alerts") <= {"headcount_alerts", "headcount_collector"}
