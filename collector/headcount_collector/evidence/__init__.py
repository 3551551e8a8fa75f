"""Vocabulary of the wire, records of the lifecycle, and the readers that turn other evidence into records."""

from .claude_code import HOOK_EVENTS, records_from_hook
from .claude_code_disk import TranscriptFolder
from .qwen_code import HOOK_EVENTS as QWEN_HOOK_EVENTS
from .record import AttributeValue, Record, export_request
from .replay_file import (
    Arrival,
    Control,
    Expectation,
    Header,
    HookBody,
    Item,
    OtlpBody,
    ReplayFile,
    ReplayFileError,
    parse_replay,
    read_replay_file,
)

__all__ = [
    "HOOK_EVENTS",
    "QWEN_HOOK_EVENTS",
    "Arrival",
    "AttributeValue",
    "Control",
    "Expectation",
    "Header",
    "HookBody",
    "Item",
    "OtlpBody",
    "Record",
    "ReplayFile",
    "ReplayFileError",
    "TranscriptFolder",
    "export_request",
    "parse_replay",
    "read_replay_file",
    "records_from_hook",
]
