"""A long run at a steady load, with memory and waits over time: `python -m benchmarks.soak [MINUTES]` (60).

One sender sends as fast as it is answered, one goes at ten times as many connections as the queue has room for; every
minute prints a row. Nothing acknowledged may be missing at the end.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.intake import addresses_of, packed, receiver, send
from benchmarks.machine import describe_machine

_SPANS = 512
_STEP_S = 60.0


def main(minutes: float) -> None:
    """Run and print a row a minute, or a row a step where it lasts less."""
    step_s = min(_STEP_S, minutes * 60)
    print(f"Soak of {minutes:g} minutes: {describe_machine()}")
    print(
        "".join(
            f"{word:>12}"
            for word in ("minute", "protocol", "spans/s", "50 % ms", "99 % ms", "refused", "MiB")
        )
    )
    sent = 0
    with tempfile.TemporaryDirectory() as folder, receiver(Path(folder) / "data") as process:
        addresses = addresses_of(process)
        bodies = packed(Path(folder), "http/protobuf", _SPANS)
        began = time.monotonic()
        number = 0
        while time.monotonic() - began < minutes * 60:
            protocol, connections = (("http/protobuf", 16), ("grpc", 16), ("http/protobuf", 256))[number % 3]
            number += 1
            run = send(protocol, addresses, connections, step_s, bodies)
            sent += run["requests"] * _SPANS
            waits_ms = sorted(wait_s * 1000 for wait_s in run["waits_s"]) or [0.0]
            row = (
                f"{(time.monotonic() - began) / 60:.1f}",
                f"{protocol[-8:]}",
                f"{run['requests'] * _SPANS / run['seconds']:,.0f}",
                f"{waits_ms[len(waits_ms) // 2]:.0f}",
                f"{waits_ms[int(len(waits_ms) * 0.99)]:.0f}",
                run["refused"],
                f"{_resident_mib(process.pid):.0f}",
            )
            print("".join(f"{word!s:>12}" for word in row), flush=True)
        answer, _ = process.communicate("")
    end = json.loads(answer)
    print(
        f"acknowledged {sent:,}, stored {end['stored']:,}, lost {max(0, sent - end['stored'])}, doubled in the facts "
        f"{end['doubled']}, peak {end['peak_mib']:.0f} MiB, {end['cpu_s'] / max(sent, 1) * 1e6:.0f} CPU s a million spans"
    )


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
