"""POST /hooks/…: what an agent harness says of itself, turned into evidence. The harness is never held up."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from headcount_collector.api.spool import Spool
from headcount_collector.evidence import wire
from headcount_collector.evidence.claude_code import records_from_hook
from headcount_collector.evidence.claude_code_disk import TranscriptFolder
from headcount_collector.evidence.qwen_code import records_from_qwen_hook
from headcount_collector.evidence.record import Record, export_request

log = logging.getLogger(__name__)

LARGEST = 32 * 1024 * 1024
"""Bytes of a body beyond which it is read to its end and not kept."""

NOTE_S = 1.0
"""Time for a harness to write its note of a child that begins."""

routes = APIRouter(prefix="/hooks", tags=["hooks"])


class HookIntake:
    """Translates hook bodies and gives the evidence to the spool; counts what came and what it could not use."""

    def __init__(self, spool: Spool, disk: TranscriptFolder | None, *, capture_content: bool) -> None:
        self.spool = spool
        self._disk = disk
        self._capture_content = capture_content
        self.received = 0
        self.unusable = 0
        self._last_ns = 0
        self._lock = threading.Lock()

    def moment(self) -> int:
        """Return now, later than every time before: a hook has no time of its own, and two are never one event."""
        self._last_ns = max(time.time_ns(), self._last_ns + 1)
        return self._last_ns

    def take(
        self,
        body: bytes,
        received_ns: int,
        read: Callable[..., list[Record]] = records_from_hook,
        *,
        again: bool = True,
    ) -> None:
        """Turn one body into evidence and keep it. Never raises: what is of no use is counted and forgotten."""
        try:
            records = read(
                json.loads(body), received_ns, capture_content=self._capture_content, disk=self._disk
            )
            if records:
                self.spool.put(export_request(records).SerializeToString())
            if again and self._disk is not None and any(map(_unjoined, records)):
                # The harness writes its note of who asked for the child while the child starts. A child that then
                # hangs says nothing more, so the note is looked for once again; the same event twice is one.
                timer = threading.Timer(NOTE_S, self.take, (body, received_ns, read), {"again": False})
                timer.daemon = True
                timer.start()
        except Exception as error:  # noqa: BLE001  # whatever a harness sends, it must be able to go on
            self.unuse(len(body), type(error).__name__)

    def unuse(self, size: int, why: str) -> None:
        """Count a body that gave no evidence, and log it without its content."""
        with self._lock:
            self.unusable += 1
        log.warning("a hook body of %d bytes was of no use: %s", size, why)


def _unjoined(record: Record) -> bool:
    """Tell whether a child began of which only its own name is known."""
    return record.event == "start" and record.run == record.attributes.get(wire.CHILD_SESSION)


@routes.post("/claude-code", status_code=204)
async def take_claude_code_hook(request: Request) -> Response:
    """Take one hook body of Claude Code. Always 204 with no body, since text would reach the model."""
    return await _take(request, records_from_hook)


@routes.post("/qwen-code", status_code=204)
async def take_qwen_code_hook(request: Request) -> Response:
    """Take one hook body of Qwen Code. Always 204 with no body."""
    return await _take(request, records_from_qwen_hook)


async def _take(request: Request, read: Callable[..., list[Record]]) -> Response:
    intake: HookIntake = request.app.state.collector.hooks
    received_ns = intake.moment()
    intake.received += 1
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= LARGEST:
            parts.append(chunk)
    if size > LARGEST:
        intake.unuse(size, f"over the limit of {LARGEST}")
    else:
        await asyncio.to_thread(intake.take, b"".join(parts), received_ns, read)
    return Response(status_code=204)
