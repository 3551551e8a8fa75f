"""A receiver in a process of its own: `python -m benchmarks.receiver FOLDER engine|naive`.

Prints the ports of OTLP/HTTP and OTLP/gRPC; when standard input ends, what was stored and what it cost.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path

import uvicorn
from benchmarks.naive import NaiveStore
from fastapi import FastAPI

from headcount_collector.receive import create_intake
from headcount_collector.receive.grpc_edge import GrpcEdge
from headcount_collector.store import Store, migrate


class _Server(uvicorn.Server):
    grpc_port = 0

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # wider type
        await super().startup()
        print(self.servers[0].sockets[0].getsockname()[1], self.grpc_port, flush=True)
        asyncio.get_running_loop().add_reader(sys.stdin, self._stop)

    def _stop(self) -> None:
        self.should_exit = True


def main(folder: Path, path: str) -> None:
    """Serve until standard input ends, then print what was committed."""
    store = Store.open(folder)
    migrate(store)
    intake = create_intake(NaiveStore(store), writers=1) if path == "naive" else create_intake(store)
    app = FastAPI()
    app.include_router(intake.router)
    edge = GrpcEdge(intake.signals)
    server = _Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", access_log=False))
    server.grpc_port = edge.start("127.0.0.1:0")
    before = resource.getrusage(resource.RUSAGE_SELF)
    server.run()
    edge.close()
    intake.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    ((stored,),) = store.query("SELECT count() FROM otel_traces")
    ((doubled,),) = store.query("SELECT count() - uniqExact(identity) FROM evidence FINAL")
    print(
        json.dumps(
            {
                "stored": stored,
                "doubled": doubled,
                "commits": intake.counters.commits,
                "cpu_s": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
                "peak_mib": used.ru_maxrss / 1024,
                "refused": dict(intake.counters.refused_requests),
            }
        ),
        flush=True,
    )
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
