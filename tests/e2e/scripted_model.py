"""A model that answers as told, behind the Messages API on loopback: drives a real agent harness without a paid one.

The words of the user's prompt say what it does: DISPATCH (the main agent dispatches a child), N=2 (so many at once),
BACKGROUND, THEN_STOP (it stops what it launched), THEN_ASK (it asks the same child again); and in the child's prompt
CHILD_ERROR, CHILD_HANG, CHILD_NESTS (it dispatches a child of its own), CHILD_SLOW (its owner's turn is over before it).
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CHILD = "CHILD-TASK"
ANSWER = "the answer is 42"
SLOW_S = 5.0


def answer_to(request: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the content blocks of the answer; an empty list for an error, None for no answer at all."""
    messages = request.get("messages", [])
    text, first = json.dumps(messages), json.dumps(messages[:1])
    tools = {tool.get("name") for tool in request.get("tools", [])}
    dispatcher = next((name for name in ("Agent", "Task") if name in tools), None)
    if CHILD in first:
        if "CHILD_HANG" in first:
            return None
        if "CHILD_ERROR" in first:
            return []
        if "tool_result" not in text and "CHILD_NESTS" in first and dispatcher is not None:
            return [call(dispatcher, **asked("", background=False))]
        if "tool_result" not in text and "Bash" in tools:
            return [call("Bash", command="echo hello", description="say hello")]
        return [{"type": "text", "text": ANSWER}]
    if "DISPATCH" in text and dispatcher is not None and CHILD not in text:
        words = " ".join(re.findall(r"CHILD_[A-Z]+", text))
        number = re.search(r"\bN=(\d+)", text)
        given = asked(words, background="BACKGROUND" in text)
        return [call(dispatcher, **given) for _ in range(int(number[1]) if number else 1)]
    launched = re.search(r"agentId: ?([\w-]+)", text)
    if launched is not None and "THEN_STOP" in text and '"name": "TaskStop"' not in text:
        return [call("TaskStop", task_id=launched[1])]
    if launched is not None and "THEN_ASK" in text and "and the other one" not in text:
        return [call("SendMessage", to=launched[1], message="and the other one?", summary="one more")]
    return [{"type": "text", "text": "done"}]


def asked(words: str, *, background: bool) -> dict[str, Any]:
    return {
        "description": "find the answer",
        "prompt": f"{CHILD} find the answer {words}",
        "subagent_type": "general-purpose",
        "run_in_background": background,
    }


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    released: threading.Event
    hanging: threading.Event

    def do_GET(self) -> None:
        self._json({})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "messages" not in self.path or "count_tokens" in self.path:
            return self._json({"input_tokens": 1})
        first = json.dumps(request.get("messages", [])[:1])
        if CHILD in first and "CHILD_SLOW" in first:
            self.released.wait(SLOW_S)
        blocks = answer_to(request)
        if blocks is None:
            self.hanging.set()
            self.released.wait()
            self.close_connection = True
            return None
        if not blocks:
            error = {"type": "invalid_request_error", "message": "as told"}
            return self._json({"type": "error", "error": error}, 400)
        stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        message: dict[str, Any] = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model"),
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 7},
        }
        return self._stream(message) if request.get("stream") else self._json(message)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        blocks, stop = message["content"], message["stop_reason"]
        self._event("message_start", message={**message, "content": [], "stop_reason": None})
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                begun = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._event("content_block_start", index=index, content_block=begun)
            self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
        self._event(
            "message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 7}
        )
        self._event("message_stop")
        self.close_connection = True

    def _event(self, kind: str, **said: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **said})}\n\n".encode())

    def _json(self, document: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class ScriptedModel:
    """The model, listening while the context is open."""

    def __init__(self) -> None:
        self._released = threading.Event()
        self.hanging = threading.Event()
        """Set once somebody waits for an answer that never comes."""
        handler = type("Handler", (_Handler,), {"released": self._released, "hanging": self.hanging})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
