"""An OpenTelemetry Collector in a process of its own, with a configuration of the tests."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".golang"
"""Where `make golang` puts what it builds."""
_PATIENCE_S = 60.0


def program(name: str) -> Path:
    """Return a program of tests/collector/golang; skips where it was not built."""
    found = PROGRAMS / name
    if not found.exists():
        pytest.skip(f"{name} is not built: `make golang` does it, where there is Go")
    return found


def free_port() -> int:
    """Return a port of loopback that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def collecting(folder: Path, config: dict[str, object], health: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Collector until left; `health` is a URL of a receiver of it that answers once it listens."""
    file = folder / "otelcol.yaml"
    config["service"] = {"telemetry": {"metrics": {"level": "none"}}, **config["service"]}  # type: ignore[dict-item]
    file.write_text(yaml.safe_dump(config))
    with (folder / "otelcol.log").open("wb") as log:
        process = subprocess.Popen([program("otelcol"), "--config", file], stderr=log, stdout=log)
        try:
            pause = threading.Event()
            for _ in range(int(_PATIENCE_S / 0.1)):
                assert process.poll() is None, (folder / "otelcol.log").read_text()[-2000:]
                if _answers(health):
                    break
                pause.wait(0.1)
            yield process
        finally:
            process.terminate()
            process.wait(_PATIENCE_S)


def _answers(url: str) -> bool:
    try:
        urlopen(url, timeout=_PATIENCE_S).close()
    except HTTPError as error:  # it has no page for us, so it is there
        error.close()
    except (URLError, ConnectionError):
        return False
    return True
