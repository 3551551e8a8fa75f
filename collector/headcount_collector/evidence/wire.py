"""The vocabulary of the wire: names of lifecycle attributes, events and the words their values may be."""

from __future__ import annotations

from typing import Final

SCOPE: Final = "headcount"

EVENT: Final = "subagent.event"
RUN: Final = "subagent.run.id"
ALIAS: Final = "subagent.run.alias"
SESSION: Final = "session.id"
ATTENDED: Final = "subagent.session.attended"
OWNER: Final = "subagent.owner.id"
PARENT_RUN: Final = "subagent.parent.run.id"
CHILD_SESSION: Final = "subagent.child_session.key"
PRODUCER: Final = "subagent.producer.id"
SEQ: Final = "subagent.producer.seq"
KEEPALIVE_MS: Final = "subagent.producer.keepalive_ms"
EXPORT_INTERVAL_MS: Final = "subagent.producer.export_interval_ms"
SERVICE: Final = "service.name"
READ_LATE: Final = "/transcript"
"""How the name of a producer ends that is a file: it may be read at any time, so that its lag says nothing of its clock."""

AGENT: Final = "gen_ai.agent.name"
MODE: Final = "subagent.mode"
DESCRIPTION: Final = "subagent.description"
DESCRIPTION_DIGEST: Final = "subagent.description.digest"
PROMPT_DIGEST: Final = "subagent.prompt.digest"
REPLICA: Final = "subagent.replica"
SUPERSEDES: Final = "subagent.supersedes"
EXPECTED_BY: Final = "subagent.expected_by"
MAX_RUNTIME_MS: Final = "subagent.max_runtime_ms"
CHANNEL: Final = "subagent.return.channel"
CAN_SEND: Final = "subagent.return.can_send"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
LAUNCH_STATE: Final = "subagent.launch.state"
LAUNCH_CAP: Final = "subagent.launch.cap"
ATTEMPT: Final = "subagent.attempt"
PHASE: Final = "subagent.phase"
STREAM: Final = "gen_ai.request.stream"
TRIGGER: Final = "subagent.turn.trigger"
TURN: Final = "subagent.turn.id"
TOOL: Final = "gen_ai.tool.name"
CALL: Final = "gen_ai.tool.call.id"
ERROR: Final = "error.type"
ERROR_DIGEST: Final = "subagent.error.digest"
OUTPUT_TOKENS: Final = "subagent.output_tokens"
WAIT_ID: Final = "subagent.wait.id"
WAIT_REASON: Final = "subagent.wait.reason"
WAIT_WAKER: Final = "subagent.wait.waker"
HAS_SUMMARY: Final = "subagent.idle.has_summary"
TURN_ENDED: Final = "subagent.idle.turn_ended"
MESSAGE_FROM: Final = "subagent.message.from"
OUTCOME: Final = "subagent.outcome"
RESULT_SIZE: Final = "subagent.result.size"
RESULT_DIGEST: Final = "subagent.result.digest"
RESULT_FORM: Final = "subagent.result.form"
RESULT_LOCATION: Final = "subagent.result.location"
RESULT_PARTIAL: Final = "subagent.result.partial"
RESULT_SOURCE: Final = "subagent.result.source"
RECEIVER: Final = "subagent.receiver.id"
RECEIVER_SESSION: Final = "subagent.receiver.session"
FORWARDED: Final = "subagent.forwarded_to_main"
FORWARD_FINAL: Final = "subagent.forward.final"
KILL_ACTOR: Final = "subagent.kill.actor"
KILL_RULE: Final = "subagent.kill.rule"
KILL_LIMIT_MS: Final = "subagent.kill.limit_ms"
OWED: Final = "subagent.owed"
FINAL: Final = "subagent.final"
GONE_REASON: Final = "subagent.gone.reason"
DISMISS_REASON: Final = "subagent.dismiss.reason"
DISMISS_CLASS: Final = "subagent.dismiss.class"
HANDED_TO: Final = "subagent.handed_to"

PENDING: Final = "pending"
ENDED: Final = "ended"

OWNER_EVENTS: Final = frozenset({"owner_turn", "owner_final", "owner_gone"})
"""Events that concern an owner and name no run."""

EVENTS: Final = OWNER_EVENTS | {
    "dispatch",
    "launch",
    "start",
    "model_request",
    "first_token",
    "tool_call",
    "output",
    "wait",
    "heartbeat",
    "idle",
    "nudge",
    "message",
    "child_done",
    "child_gone",
    "completion_received",
    "completion_forwarded",
    "completion_consumed",
    "abort",
    "kill",
    "dismiss",
}

PHASES: Final = frozenset({PENDING, ENDED})
PHASED_EVENTS: Final = frozenset({"model_request", "tool_call", "wait", "owner_turn"})
"""Events that last, and so come as a pending and an ended record."""

MODES: Final = frozenset({"foreground", "background", "teammate"})
CHANNELS: Final = frozenset({"tool_result", "notification", "message", "none"})
LAUNCH_STATES: Final = frozenset({"queued", "reserved", "registered", "rejected"})
TRIGGERS: Final = frozenset({"task", "nudge", "message", "notice", "timer"})
WAIT_REASONS: Final = frozenset(
    {"approval", "human_input", "queue", "rate_limit", "provider_retry", "child", "tool"}
)
SENDERS: Final = frozenset({"owner", "child", "observer"})
OUTCOMES: Final = frozenset({"ok", "error", "killed", "timeout", "crashed", "cancelled"})
FORMS: Final = frozenset({"raw", "wrapped"})
SOURCES: Final = frozenset(
    {"completion_push", "notification", "tool_result", "polled", "transcript", "relay", "operator"}
)
