"""The words of the wire: attribute names and values of lifecycle spans, as the telemetry conventions list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

from headcount.guard import complain

Clean = str | bool | int | float | tuple[str, ...]
Value = Clean | Sequence[str] | None

Mode = Literal["foreground", "background", "teammate"]
Outcome = Literal["ok", "error", "killed", "timeout", "crashed", "cancelled"]
LaunchState = Literal["queued", "reserved", "registered", "rejected"]
Channel = Literal["tool_result", "notification", "message", "none"]
ResultSource = Literal[
    "completion_push", "notification", "tool_result", "polled", "transcript", "relay", "operator"
]
Trigger = Literal["task", "nudge", "message", "notice", "timer"]
WaitReason = Literal["approval", "human_input", "queue", "rate_limit", "provider_retry", "child", "tool"]
Sender = Literal["owner", "child", "observer"]

FAILED_OUTCOMES: Final = frozenset({"error", "timeout", "crashed"})

EVENT: Final = "subagent.event"
PHASE: Final = "subagent.phase"
PENDING: Final = "pending"
ENDED: Final = "ended"

RUN_ID: Final = "subagent.run.id"
RUN_ALIAS: Final = "subagent.run.alias"
SESSION_ID: Final = "session.id"
ATTENDED: Final = "subagent.session.attended"
OWNER_ID: Final = "subagent.owner.id"
PARENT_RUN_ID: Final = "subagent.parent.run.id"
CHILD_SESSION: Final = "subagent.child_session.key"

PRODUCER_ID: Final = "subagent.producer.id"
PRODUCER_SEQ: Final = "subagent.producer.seq"
KEEPALIVE_MS: Final = "subagent.producer.keepalive_ms"
EXPORT_INTERVAL_MS: Final = "subagent.producer.export_interval_ms"

MODE: Final = "subagent.mode"
DESCRIPTION: Final = "subagent.description"
DESCRIPTION_DIGEST: Final = "subagent.description.digest"
PROMPT_DIGEST: Final = "subagent.prompt.digest"
REPLICA: Final = "subagent.replica"
SUPERSEDES: Final = "subagent.supersedes"
EXPECTED_BY: Final = "subagent.expected_by"
MAX_RUNTIME_MS: Final = "subagent.max_runtime_ms"
RETURN_CHANNEL: Final = "subagent.return.channel"
RETURN_CAN_SEND: Final = "subagent.return.can_send"

LAUNCH_STATE: Final = "subagent.launch.state"
LAUNCH_CAP: Final = "subagent.launch.cap"
ATTEMPT: Final = "subagent.attempt"
TURN_ID: Final = "subagent.turn.id"
TURN_TRIGGER: Final = "subagent.turn.trigger"
OUTPUT_TOKENS: Final = "subagent.output_tokens"
ERROR_DIGEST: Final = "subagent.error.digest"
WAIT_ID: Final = "subagent.wait.id"
WAIT_REASON: Final = "subagent.wait.reason"
WAIT_WAKER: Final = "subagent.wait.waker"
IDLE_HAS_SUMMARY: Final = "subagent.idle.has_summary"
IDLE_TURN_ENDED: Final = "subagent.idle.turn_ended"
MESSAGE_FROM: Final = "subagent.message.from"

OUTCOME: Final = "subagent.outcome"
RESULT_SIZE: Final = "subagent.result.size"
RESULT_DIGEST: Final = "subagent.result.digest"
RESULT_FORM: Final = "subagent.result.form"
RESULT_LOCATION: Final = "subagent.result.location"
RESULT_PARTIAL: Final = "subagent.result.partial"
RESULT_SOURCE: Final = "subagent.result.source"
RECEIVER_ID: Final = "subagent.receiver.id"
RECEIVER_SESSION: Final = "subagent.receiver.session"
FORWARDED: Final = "subagent.forwarded_to_main"
FORWARD_FINAL: Final = "subagent.forward.final"

KILL_ACTOR: Final = "subagent.kill.actor"
KILL_RULE: Final = "subagent.kill.rule"
KILL_LIMIT_MS: Final = "subagent.kill.limit_ms"
OWED: Final = "subagent.owed"
OWNER_FINAL: Final = "subagent.final"
GONE_REASON: Final = "subagent.gone.reason"
DISMISS_REASON: Final = "subagent.dismiss.reason"
HANDED_TO: Final = "subagent.handed_to"

AGENT_NAME: Final = "gen_ai.agent.name"
OPERATION: Final = "gen_ai.operation.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
ERROR_TYPE: Final = "error.type"


_NUMBERS: Final = (bool, int, float)
_VOCABULARY: Final = {
    MODE: frozenset(get_args(Mode)),
    OUTCOME: frozenset(get_args(Outcome)),
    LAUNCH_STATE: frozenset(get_args(LaunchState)),
    RETURN_CHANNEL: frozenset(get_args(Channel)),
    RESULT_SOURCE: frozenset(get_args(ResultSource)),
    TURN_TRIGGER: frozenset(get_args(Trigger)),
    WAIT_REASON: frozenset(get_args(WaitReason)),
    MESSAGE_FROM: frozenset(get_args(Sender)),
}


def clean(attributes: Mapping[str, Value]) -> dict[str, Clean]:
    """Return what an exporter can encode: no None, no empty list, no text that is not valid Unicode.

    A word that the conventions do not have is reported and sent all the same: evidence is better than silence.
    """
    cleaned: dict[str, Clean] = {}
    for key, value in attributes.items():
        if value is None:
            continue
        words = _VOCABULARY.get(key)
        if words is not None and value not in words:
            complain(
                f"{key}={value}",
                "headcount: %s=%r is sent as it is, but is none of %s",
                key,
                value,
                sorted(words),
            )
        if isinstance(value, str):
            cleaned[key] = value if value.isascii() else _text(value)
        elif isinstance(value, _NUMBERS):
            cleaned[key] = value
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            if value:
                cleaned[key] = tuple(_text(item) for item in value)
        else:
            cleaned[key] = _text(value)
    return cleaned


def _text(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
