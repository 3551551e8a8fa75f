"""The environments of the adapters, below `.venv-adapters`: one for those that fit together, one each for the others.

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
TOGETHER = "frameworks"
MEMBERS = ("openai-agents", "pydantic-ai", "langchain", "agent-framework", "claude-agent-sdk")
"""The extras that fit into one environment."""
NPM = {
    "claude-code": ["@anthropic-ai/claude-code"],
    "qwen-code": ["@qwen-code/qwen-code@~0.24.4"],
    "openclaw": ["openclaw@2026.9.6"],
}
NODE = {"qwen-code": "node@24", "openclaw": "node@24"}
"""Programs that need a newer node than systems have: it is a package too, put beside them."""
LIGHT = (TOGETHER,)
"""What is built and tested by default: the others take a gigabyte, or minutes."""
STAMP = ".complete"


def python_of(name: str) -> Path | None:
    """Return the interpreter of an environment that is complete."""
    places = (name, TOGETHER) if name in MEMBERS else (name,)
    return next((FOLDER / place / "bin" / "python" for place in places if _complete(place)), None)


def with_node(name: str) -> dict[str, str]:
    """Return this environment with the node that is beside a program first."""
    own = FOLDER / name / "node_modules" / "node" / "bin"
    return {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def program_of(name: str, path: str) -> Path | None:
    """Return a file of a program from npm, if its environment is complete."""
    return FOLDER / name / "node_modules" / path if _complete(name) else None


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
        install = [npm, "install", "--no-fund", "--no-audit", "--prefix", str(folder)]
        if name in NODE:
            subprocess.run([*install, NODE[name]], capture_output=True, check=False)
        command = [*install, *NPM[name]]
    elif name in REQUIREMENTS or name == TOGETHER:
        extras = MEMBERS if name == TOGETHER else (name,)
        venv.create(folder, with_pip=True)
        pip = [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        needed = [line for extra in extras for line in REQUIREMENTS[extra]]
        command = [*pip, "--editable", f"{ROOT}[{','.join(extras)}]", *needed]
    else:
        return f"there is no such environment; there are {', '.join([TOGETHER, *REQUIREMENTS, *NPM])}"
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**with_node(name), "CI": "true"}
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
    alone = [name for name in REQUIREMENTS if name not in MEMBERS]
    chosen = [TOGETHER, *alone, *NPM] if names == ["all"] else names or list(LIGHT)
    failed = 0
    for name in chosen:
        why = build(name)
        print(f"{name}: {why or 'ready'}", flush=True)
        failed += why is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
