"""The machine a figure was taken on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

_PARTS = ("chdb-core", "clickhouse-connect", "protobuf", "uvicorn")


def describe_machine() -> str:
    """Return processor, cores, memory, load and the versions that matter, in one line."""
    parts = ", ".join(f"{part} {version(part)}" for part in _PARTS)
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gib()}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {parts}; {load} before the run"
    )


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> str:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 2**20:.0f} GiB"
    return "memory unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
