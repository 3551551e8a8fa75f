"""Finds the adapters: all of them in one call, or one by one for `opentelemetry-instrument`, by entry point."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final

from headcount.guard import complain

ADAPTERS: Final = {
    "openai_agents": "agents",
    "langchain": "langchain_core",
    "pydantic_ai": "pydantic_ai",
    "crewai": "crewai",
    "google_adk": "google.adk",
    "agent_framework": "agent_framework",
}
"""The adapters that need no line in the program, and the package each of them is for."""


def instrument(*names: str) -> list[str]:
    """Instrument the frameworks that are named, or all that are installed; return which were.

    One that fails is reported in the log and left out.
    """
    return [name for name in names or ADAPTERS if _instrument(name)]


def _instrument(name: str) -> bool:
    package = ADAPTERS.get(name)
    if package is None:
        complain(
            f"adapter {name}", "headcount: there is no adapter %r; there are %s", name, ", ".join(ADAPTERS)
        )
        return False
    try:
        if find_spec(package) is None:
            return False
        import_module(f"headcount.adapters.{name}").instrument()
    except Exception as error:  # noqa: BLE001  # a framework of another version must not stop its host
        complain(f"adapter {name}", "headcount: the adapter %s does not fit: %s", name, error, error=error)
        return False
    return True


class _Instrumentor:
    """What `opentelemetry-instrument` calls; it configures headcount by the environment, as a line would."""

    adapter = ""

    def instrument(self, **_: object) -> None:
        """Instrument one framework, if it is installed."""
        instrument(self.adapter)

    def uninstrument(self, **_: object) -> None:
        """Do nothing: switch headcount off with HEADCOUNT_DISABLED."""


class OpenAIAgentsInstrumentor(_Instrumentor):
    """Entry point `headcount_openai_agents`."""

    adapter = "openai_agents"


class LangChainInstrumentor(_Instrumentor):
    """Entry point `headcount_langchain`."""

    adapter = "langchain"


class PydanticAIInstrumentor(_Instrumentor):
    """Entry point `headcount_pydantic_ai`."""

    adapter = "pydantic_ai"


class CrewAIInstrumentor(_Instrumentor):
    """Entry point `headcount_crewai`."""

    adapter = "crewai"


class GoogleADKInstrumentor(_Instrumentor):
    """Entry point `headcount_google_adk`."""

    adapter = "google_adk"


class AgentFrameworkInstrumentor(_Instrumentor):
    """Entry point `headcount_agent_framework`."""

    adapter = "agent_framework"
