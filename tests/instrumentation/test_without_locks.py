"""A system without file locks, as Windows is: everything works but the spool, and that is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .receiver import Receiver

PROGRAM = """
import sys
sys.modules["fcntl"] = None
import headcount
headcount.configure(sys.argv[1], service_name="program", spool=sys.argv[2])
run = headcount.dispatch("reviewer")
with headcount.child(run) as child:
    with child.tool("Read"):
        pass
assert headcount.flush(20)
assert set(headcount.stats().faults) == {"no file locks"}, headcount.stats().faults
"""


def test_without_file_locks_nothing_is_kept_and_a_warning_says_what_to_do(tmp_path: Path) -> None:
    with Receiver() as receiver:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, receiver.endpoint, str(tmp_path / "spool")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        events = {span.event for span in receiver.spans}
    assert {"dispatch", "start", "tool_call", "child_done"} <= events
    assert "no file locks" in ended.stderr
    assert "headcount.flush()" in ended.stderr
    assert not (tmp_path / "spool").exists()
