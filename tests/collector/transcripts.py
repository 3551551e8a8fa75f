"""Recorded transcripts, laid out as the harness lays them."""

from __future__ import annotations

import shutil
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "captures" / "claude-code"


def lay_out(case: str, folder: Path) -> Path:
    """Copy a recorded session into a folder as `<session>.jsonl` and `<session>/subagents/…`; return the file."""
    source = CAPTURES / case / "transcripts"
    (main,) = source.glob("*.jsonl")
    shutil.copy(main, folder)
    shutil.copytree(source / "subagents", folder / main.stem / "subagents")
    return folder / main.name
