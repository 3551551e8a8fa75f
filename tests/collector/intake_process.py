"""A receiver in a process of its own, for tests that kill it: `python -m tests.collector.intake_process FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.collector.intake_server import serving

if __name__ == "__main__":
    with serving(Path(sys.argv[1])) as running:
        print(running.url, flush=True)
        sys.stdin.read()  # until killed, or told to end by the end of input
