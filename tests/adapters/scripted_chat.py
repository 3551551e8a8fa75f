"""A model that answers as told, behind OpenAI's chat completions on loopback, for harnesses that speak that interface.

The words of the user's prompt are those of `tests.e2e.scripted_model`: DISPATCH, N=2, BACKGROUND, THEN_STOP, THEN_ASK, and
OWNER_DEAF (it never answers to what its child came to); in the child's prompt CHILD_ERROR, CHILD_HANG, CHILD_NESTS,
CHILD_SLOW. How a harness calls its tools is in a `Vocabulary`.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CHILD = "CHILD-TASK"
ANSWER = "the answer is 42"
SLOW_S = 5.0
AGAIN = "and the other one?"
Call = tuple[str, dict[str, Any]]
DONE = "done"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A harness's tools: the one that dispatches, the one that runs a shell command, and what they are given."""

    dispatcher: str
    shell: str
    dispatch: Callable[[str, bool], dict[str, Any]]
    command: dict[str, Any]
    is_child: Callable[[list[dict[str, Any]]], bool]
    stop: Callable[[str], Call] | None = None
    """By the id of the dispatching call: the call that stops its child."""
    ask_again: Callable[[str], Call] | None = None
    """By the same id: the call that asks a child again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says: a text, or calls of tools."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)


def answer_to(request: dict[str, Any], words_of: Vocabulary) -> Answer | int | None:
    """Return the answer, the status of an error, or None for no answer at all."""
    messages = request.get("messages", [])
    text = json.dumps(messages)
    tools = {tool.get("function", {}).get("name") for tool in request.get("tools", [])}
    answered = any(message.get("role") == "tool" for message in messages)
    if words_of.is_child(messages):
        if "CHILD_HANG" in text:
            return None
        if "CHILD_ERROR" in text:
            return 400
        if not answered and "CHILD_NESTS" in text and words_of.dispatcher in tools:
            return Answer(calls=[(words_of.dispatcher, words_of.dispatch(CHILD, False))])
        if not answered and words_of.shell in tools:
            return Answer(calls=[(words_of.shell, words_of.command)])
        return Answer(ANSWER)
    if "DISPATCH" in text and words_of.dispatcher in tools and not answered:
        words = " ".join(re.findall(r"CHILD_[A-Z]+", text))
        number = re.search(r"\bN=(\d+)", text)
        asked = words_of.dispatch(f"{CHILD} find the answer {words}".strip(), "BACKGROUND" in text)
        return Answer(calls=[(words_of.dispatcher, asked)] * (int(number[1]) if number else 1))
    if "OWNER_DEAF" in text and ANSWER in text:
        return None
    return _second_thought(messages, text, words_of) or Answer(DONE)


def _second_thought(messages: list[dict[str, Any]], text: str, words_of: Vocabulary) -> Answer | None:
    """Return what the owner does about a child that it has dispatched, once."""
    made = [call for message in messages for call in message.get("tool_calls") or ()]
    called = {call["function"]["name"] for call in made}
    for id in (call["id"] for call in made if call["function"]["name"] == words_of.dispatcher):
        if "THEN_STOP" in text and words_of.stop is not None and words_of.stop(id)[0] not in called:
            return Answer(calls=[words_of.stop(id)])
        if "THEN_ASK" in text and words_of.ask_again is not None and "<task-id>" in text:
            return Answer(calls=[words_of.ask_again(id)]) if AGAIN not in text else None
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    released: threading.Event
    hanging: threading.Event
    vocabulary: Vocabulary

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        messages = request.get("messages", [])
        if self.vocabulary.is_child(messages) and "CHILD_SLOW" in json.dumps(messages):
            self.released.wait(SLOW_S)
        answer = answer_to(request, self.vocabulary)
        if answer is None:
            self.hanging.set()
            self.released.wait()
            self.close_connection = True
        elif isinstance(answer, int):
            self._json({"error": {"type": "invalid_request_error", "message": "as told"}}, answer)
        elif request.get("stream"):
            self._stream(answer)
        else:
            self._json(next(_whole(answer)))

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for chunk in _chunks(answer):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _json(self, document: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


_USAGE = {"prompt_tokens": 1, "completion_tokens": 7, "total_tokens": 8}


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": f"call_{uuid.uuid4().hex[:20]}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for index, (name, given) in enumerate(answer.calls)
    ]


def _about(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex[:20]}", "object": kind, "created": 1, "model": "scripted"}


def _whole(answer: Answer) -> Iterator[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.calls else "stop"}
    yield {**_about("chat.completion"), "choices": [choice], "usage": _USAGE}


def _chunks(answer: Answer) -> Iterator[dict[str, Any]]:
    about = _about("chat.completion.chunk")
    said: dict[str, Any] = {"tool_calls": _calls(answer)} if answer.calls else {"content": answer.text}
    for delta in ({"role": "assistant", "content": ""}, said):
        yield {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if answer.calls else "stop"
    yield {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": _USAGE}


class ScriptedChat:
    """The model, listening while the context is open."""

    def __init__(self, vocabulary: Vocabulary, port: int = 0) -> None:
        self._released = threading.Event()
        self.hanging = threading.Event()
        """Set once somebody waits for an answer that never comes."""
        events = {"released": self._released, "hanging": self.hanging}
        handler = type("Handler", (_Handler,), {**events, "vocabulary": vocabulary})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base address that the harness is given."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
