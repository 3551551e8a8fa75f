"""The environments of the adapters: one for each framework, below `.venv-adapters`, since they do not fit together.

`python -m tests.adapters.environments [NAME …]` builds what is missing, and says what cannot be built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-adapters"
REQUIREMENTS: dict[str, list[str]] = {
    "openai-agents": [],
    "langchain": ["langchain>=1.5,<2", "langgraph>=1.2,<2", "deepagents>=0.7,<0.8"],
    "pydantic-ai": ["opentelemetry-instrumentation"],
    "claude-agent-sdk": [],
    "agent-framework": [],
    "google-adk": [],
    "crewai": [],
}
"""By the extra that each is for: what its program needs besides."""
NPM = {"claude-code": ["@anthropic-ai/claude-code"]}
LIGHT = ("openai-agents", "pydantic-ai")
"""What is built and tested by default: the others take a gigabyte, or minutes."""
STAMP = ".complete"


def python_of(name: str) -> Path | None:
    """Return the interpreter of an environment that is complete."""
    folder = FOLDER / name
    return folder / "bin" / "python" if _complete(name) else None


def build(name: str) -> str | None:
    """Build an environment that is missing; return why it cannot be."""
    folder = FOLDER / name
    if _complete(name):
        return None
    if name in NPM:
        npm = shutil.which("npm")
        if npm is None:
            return "npm is not installed"
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-fund", "--no-audit", "--prefix", str(folder), *NPM[name]]
    elif name in REQUIREMENTS:
        venv.create(folder, with_pip=True)
        pip = [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        command = [*pip, "--editable", f"{ROOT}[{name}]", *REQUIREMENTS[name]]
    else:
        return f"there is no such environment; there are {', '.join([*REQUIREMENTS, *NPM])}"
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "CI": "true"}
    )
    if ended.returncode:
        return (ended.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    (folder / STAMP).touch()
    return None


def _complete(name: str) -> bool:
    """Tell whether an environment was built."""
    return (FOLDER / name / STAMP).exists()


def main(names: list[str]) -> int:
    """Build the named environments (`all`: every one; none named: the light ones); 1 if one could not be built."""
    chosen = [*REQUIREMENTS, *NPM] if names == ["all"] else names or list(LIGHT)
    failed = 0
    for name in chosen:
        why = build(name)
        print(f"{name}: {why or 'ready'}", flush=True)
        failed += why is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
