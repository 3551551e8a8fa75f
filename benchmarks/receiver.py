"""A receiver in a process of its own: `python -m benchmarks.receiver FOLDER engine|naive`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvicorn
from benchmarks.naive import NaiveStore
from fastapi import FastAPI

from headcount_collector.receive import create_intake
from headcount_collector.store import Store, migrate


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # wider type
        await super().startup()
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)
        asyncio.get_running_loop().add_reader(sys.stdin, self._stop)

    def _stop(self) -> None:
        self.should_exit = True


def main(folder: Path, path: str) -> None:
    """Serve until standard input ends, then print what was committed."""
    store = Store.open(folder)
    migrate(store)
    intake = create_intake(NaiveStore(store) if path == "naive" else store)
    app = FastAPI()
    app.include_router(intake.router)
    _Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", access_log=False)).run()
    intake.close()
    ((stored,),) = store.query("SELECT count() FROM otel_traces")
    print(stored, intake.counters.commits, flush=True)
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
