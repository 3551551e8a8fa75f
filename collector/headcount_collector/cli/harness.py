"""`headcount claude-code …` and `headcount qwen-code …`: hooks into a harness's settings, transcripts into evidence."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from headcount_collector.cli import hook_settings
from headcount_collector.cli.client import Client, ClientError
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.hook_settings import FORWARDER, Hooks, SettingsFileError
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.evidence import HOOK_EVENTS, QWEN_HOOK_EVENTS
from headcount_collector.settings import load_settings

Where = Literal["user", "project", "local"]

Scope = Annotated[
    Where, typer.Option("--scope", help="Whose settings: yours, the project's, or yours in this project.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")]


@dataclass(frozen=True, slots=True)
class Harness:
    """One agent harness: where its settings lie, what is put there."""

    name: str
    folder: str
    folder_variable: str
    path: str
    events: tuple[str, ...]
    only_commands: bool

    def file(self, scope: Where) -> Path:
        """Return the settings file of a scope."""
        if scope == "user":
            chosen = os.environ.get(self.folder_variable)
            return (Path(chosen) if chosen else Path.home() / self.folder) / "settings.json"
        return Path.cwd() / self.folder / ("settings.json" if scope == "project" else "settings.local.json")

    def hooks(self, url: str, *, by_command: bool, token_variable: str | None) -> Hooks:
        """Return what is put in for a collector at `url`."""
        target = f"{url.rstrip('/')}{self.path}"
        return Hooks(
            self.path,
            target,
            forwarding_command(target),
            self.events,
            by_command=by_command or self.only_commands,
            token_variable=token_variable,
        )


CLAUDE_CODE = Harness(
    "claude-code", ".claude", "CLAUDE_CONFIG_DIR", "/hooks/claude-code", HOOK_EVENTS, only_commands=False
)
QWEN_CODE = Harness(
    "qwen-code", ".qwen", "QWEN_HOME", "/hooks/qwen-code", QWEN_HOOK_EVENTS, only_commands=True
)


def forwarding_command(url: str) -> str:
    """Return the shell command that hands a hook to the collector: this Python, isolated, and one file."""
    package = find_spec("headcount")
    if package is None or package.origin is None:
        raise SettingsFileError(
            "the package headcount is not installed beside this command: pip install headcount"
        )
    script = Path(package.origin).with_name(FORWARDER)
    return shlex.join([sys.executable, "-I", "-S", str(script), url])


def commands_of(harness: Harness) -> typer.Typer:
    """Return the commands of a harness as an application of their own."""
    app = typer.Typer(
        name=harness.name,
        no_args_is_help=True,
        help=f"Put headcount's hooks into the settings of {harness.name}.",
    )

    @app.command()
    @told
    def install(
        scope: Scope = "user",
        dry_run: DryRun = False,
        command: Annotated[
            bool, typer.Option("--command", help="Hand over by a command, where HTTP hooks are not allowed.")
        ] = False,
        token: Annotated[
            bool, typer.Option("--token", help="Send $HEADCOUNT_TOKEN of the harness's environment along.")
        ] = False,
        url: Url = None,
        config: Config = None,
    ) -> None:
        """Put the hooks in, once; what others put there stays as it is."""
        file = harness.file(scope)
        target = load_settings(config, url=url).url
        hooks = harness.hooks(target, by_command=command, token_variable="HEADCOUNT_TOKEN" if token else None)
        before = hook_settings.read(file)
        _apply(file, before, hook_settings.with_hooks(before, hooks), dry_run)
        if not dry_run:
            out().print(f"{len(harness.events)} hooks go to {hooks.url}; sessions that begin now are watched")

    @app.command()
    @told
    def uninstall(scope: Scope = "user", dry_run: DryRun = False) -> None:
        """Take the hooks out; what others put there stays as it is."""
        file = harness.file(scope)
        before = hook_settings.read(file)
        _apply(file, before, hook_settings.without_hooks(before, harness.path), dry_run)

    @app.command()
    @told
    def status(as_json: Json = False, url: Url = None, config: Config = None) -> None:
        """Say where the hooks are, whether all of them, and whether the collector answers; 1 if not."""
        client = Client.of(load_settings(config, url=url))
        document = _status(harness, client)
        if as_json:
            print_json(document)
        else:
            _print_status(document)
        if not document["watched"]:
            raise typer.Exit(1)

    return app


def _apply(file: Path, before: dict[str, object], after: dict[str, object], dry_run: bool) -> None:
    if after == before:
        out().print(f"{file}: nothing to change")
    elif dry_run:
        out().print(f"{file} would become:", soft_wrap=True)
        sys.stdout.write(json.dumps(after, indent=2, ensure_ascii=False) + "\n")
    else:
        backup = hook_settings.write(file, after)
        out().print(
            f"{file}: written" + (f", the former one is {backup.name}" if backup else ""), soft_wrap=True
        )


def _status(harness: Harness, client: Client) -> dict[str, object]:
    scopes: list[dict[str, object]] = []
    complete = False
    places: tuple[Where, ...] = ("user", "project", "local")
    for scope in places:
        file = harness.file(scope)
        found = hook_settings.installed(hook_settings.read(file), harness.path)
        missing = [event for event in harness.events if event not in found]
        complete = complete or not missing
        targets = sorted({target for event in found.values() for target in event})
        scopes.append(
            {"scope": scope, "file": str(file), "hooks": sorted(found), "missing": missing, "to": targets}
        )
    try:
        client.runs({}, limit=1)
        answer = None
    except ClientError as error:
        answer = str(error)
    return {"watched": complete and answer is None, "scopes": scopes, "url": client.url, "problem": answer}


def _print_status(document: dict[str, object]) -> None:
    scopes = document["scopes"]
    assert isinstance(scopes, list)
    for scope in scopes:
        if not scope["hooks"]:
            said = "no hooks"
        elif scope["missing"]:
            said = f"{len(scope['hooks'])} hooks, missing: {', '.join(scope['missing'])}; install again"
        else:
            said = f"all {len(scope['hooks'])} hooks, to {', '.join(scope['to'])}"
        out().print(f"{scope['scope']:8} {scope['file']}: {said}", soft_wrap=True)
    out().print(f"collector {document['url']}: {document['problem'] or 'answers'}", soft_wrap=True)
