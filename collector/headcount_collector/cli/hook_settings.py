"""The hooks in an agent harness's settings file: which are ours, putting them in, taking them out, nothing else touched."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcount_collector.errors import HeadcountError

FORWARDER = "forward_hook.py"
COMMAND_ONLY = frozenset({"SessionStart", "Setup"})
"""Events for which harnesses take no HTTP hook."""
TIMEOUT_S = 5
"""The collector answers in milliseconds; a hook that waits longer than this waits for a machine that is down."""

Settings = dict[str, Any]


class SettingsFileError(HeadcountError):
    """The settings file cannot be read or written, or is not what the harness would write."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What is put in: one entry an event; `command` for the events (or all) that cannot be posted by the harness."""

    path: str
    """The collector's route, such as `/hooks/claude-code`; it tells our entries from others'."""
    url: str
    command: str
    events: Sequence[str]
    by_command: bool = False
    token_variable: str | None = None

    def entry(self, event: str) -> Settings:
        """Return the entry for an event; without a matcher, so that it holds for every tool."""
        if self.by_command or event in COMMAND_ONLY:
            return {"hooks": [{"type": "command", "command": self.command, "timeout": TIMEOUT_S}]}
        hook: Settings = {"type": "http", "url": self.url, "timeout": TIMEOUT_S}
        if self.token_variable is not None:
            hook["headers"] = {"Authorization": f"Bearer ${self.token_variable}"}
            hook["allowedEnvVars"] = [self.token_variable]
        return {"hooks": [hook]}


def read(file: Path) -> Settings:
    """Return a settings file's content, an empty one where there is none. Raises SettingsFileError."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsFileError(f"{file} cannot be read: {error}") from None
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SettingsFileError(f"{file} is no JSON ({error}); mend it first, it is left as it is") from None
    if not isinstance(found, dict) or not isinstance(found.get("hooks", {}), dict):
        raise SettingsFileError(f"{file} does not look like settings of a harness; it is left as it is")
    strange = [event for event, entries in found.get("hooks", {}).items() if not isinstance(entries, list)]
    if strange:
        raise SettingsFileError(
            f"{file}: hooks.{strange[0]} is no list, as a harness has it; mend it first, it is left as it is"
        )
    return found


def installed(settings: Settings, path: str) -> dict[str, list[str]]:
    """Return by event where our hooks go: addresses and commands."""
    found: dict[str, list[str]] = {}
    for event, hook in _hooks(settings):
        if _is_ours(hook, path):
            found.setdefault(event, []).append(str(hook.get("url") or hook.get("command")))
    return found


def with_hooks(settings: Settings, hooks: Hooks) -> Settings:
    """Return the settings with our hooks in them once, whatever of ours was there before."""
    wanted = {event: hooks.entry(event) for event in hooks.events}
    if _entries_of(settings, hooks.path) == {event: [entry] for event, entry in wanted.items()}:
        return settings
    changed = without_hooks(settings, hooks.path)
    for event, entry in wanted.items():
        changed.setdefault("hooks", {}).setdefault(event, []).append(entry)
    return changed


def without_hooks(settings: Settings, path: str) -> Settings:
    """Return the settings without our hooks, and without the lists that only they had filled."""
    changed = copy.deepcopy(settings)
    events = changed.get("hooks", {})
    for event, entries in list(events.items()):
        if not isinstance(entries, list):
            continue
        kept = [left for entry in entries if (left := _without_ours(entry, path)) is not None]
        if kept or not entries:
            events[event] = kept
        else:
            del events[event]
    if not events and settings.get("hooks"):
        changed.pop("hooks", None)
    return changed


def write(file: Path, settings: Settings, *, clock: Callable[[], float] = time.time) -> Path | None:
    """Replace a settings file in one step, keeping its mode; return the copy of the former one, if there was one."""
    target = file.resolve()
    backup = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            backup = target.with_name(f"{target.name}.headcount-{int(clock())}.bak")
            shutil.copy2(target, backup)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                json.dump(settings, out, indent=2, ensure_ascii=False)
                out.write("\n")
            if target.exists():
                shutil.copymode(target, name)
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise SettingsFileError(f"{file} cannot be written: {error}") from None
    return backup


def _hooks(settings: Settings) -> Iterator[tuple[str, Settings]]:
    for event, entries in settings.get("hooks", {}).items():
        for entry in entries if isinstance(entries, list) else ():
            for hook in entry.get("hooks", ()) if isinstance(entry, dict) else ():
                if isinstance(hook, dict):
                    yield event, hook


def _entries_of(settings: Settings, path: str) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for event, entries in settings.get("hooks", {}).items():
        for entry in entries if isinstance(entries, list) else ():
            hooks = entry.get("hooks") if isinstance(entry, dict) else None
            if isinstance(hooks, list) and any(isinstance(h, dict) and _is_ours(h, path) for h in hooks):
                found.setdefault(event, []).append(entry)
    return found


def _without_ours(entry: object, path: str) -> object | None:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(hooks, list):
        return entry
    kept = [hook for hook in hooks if not (isinstance(hook, dict) and _is_ours(hook, path))]
    if len(kept) == len(hooks):
        return entry
    return {**entry, "hooks": kept} if kept else None


def _is_ours(hook: Settings, path: str) -> bool:
    url, command = hook.get("url"), hook.get("command")
    if isinstance(url, str) and url.rstrip("/").endswith(path):
        return True
    return isinstance(command, str) and FORWARDER in command and path in command
