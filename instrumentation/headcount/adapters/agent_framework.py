"""Microsoft Agent Framework: its own GenAI spans, heard where they are made; an agent used as a tool is a child.

    import headcount
    from headcount.adapters import agent_framework

    headcount.configure()
    agent_framework.instrument()

Set up OpenTelemetry first, if you do: where there is no TracerProvider, one is made, since the framework's spans need it.
"""

from __future__ import annotations

from headcount.adapters import genai_spans


def instrument() -> None:
    """Hear all agents from now on, once."""
    genai_spans.provider_to_hear()
