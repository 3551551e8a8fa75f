"""Google ADK: its own GenAI spans, heard where they are made; an `AgentTool` or a sub-agent is a dispatched child.

    import headcount
    from headcount.adapters import google_adk

    headcount.configure()
    google_adk.instrument()

Set up OpenTelemetry first, if you do: where there is no TracerProvider, one is made, since the framework's spans need it.
"""

from __future__ import annotations

from headcount.adapters import genai_spans


def instrument() -> None:
    """Hear all agents from now on, once."""
    genai_spans.provider_to_hear()
