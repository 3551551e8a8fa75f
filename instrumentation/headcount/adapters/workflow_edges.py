"""Workflows of Microsoft Agent Framework: what an agent came to is delivered by an edge, and its span says whether.

A workflow is the owner of the agents in its executors. An agent's message and the edge that carries it are spans of their
own; the edge names the message by a link, and `edge_group.delivery_status` says what became of it. A message whose
condition is false went where the workflow wanted it to go: nowhere. What no edge takes is the workflow's output.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan

from headcount.adapters.nesting import MOST_OPEN, Nesting, Operation

WORKFLOW: Final = "workflow.run"
MESSAGE: Final = "message.send"
EDGE: Final = "edge_group.process"
STATUS: Final = "edge_group.delivery_status"
_AT_ONCE: Final = frozenset({"dropped type mismatch", "exception"})
"""The message is lost, whatever other edges do."""
_UNLESS_CARRIED: Final = frozenset({"dropped target mismatch", "buffered"})
"""Another edge may be the one that it is for, or still wait for others."""


class WorkflowEdges:
    """Reads the deliveries of one provider's workflows."""

    def __init__(self, nesting: Nesting) -> None:
        self._nesting = nesting
        self._sent: OrderedDict[str, list[Operation]] = OrderedDict()

    def began(self, id: str, parent: str | None, name: str, attributes: Mapping[str, Any]) -> bool:
        """Take the beginning of a workflow; return whether it is one. Take note of a message."""
        if name == WORKFLOW:
            self._nesting.agent_began(
                id, parent, str(attributes.get("workflow.name") or "workflow"), edges=True
            )
            return True
        if name == MESSAGE and parent is not None:
            self._sent[id] = self._nesting.held_below(parent)
            while len(self._sent) > MOST_OPEN:
                self._sent.popitem(last=False)
        return False

    def ended(self, span: ReadableSpan) -> None:
        """Take what an edge did with a message."""
        status = (span.attributes or {}).get(STATUS)
        if status is None or not span.name.startswith(EDGE):
            return
        for link in span.links:
            for agent in self._sent.get(f"{link.context.trace_id:032x}{link.context.span_id:016x}", ()):
                if status == "delivered":
                    self._nesting.carried(agent)
                elif status in _AT_ONCE:
                    self._nesting.carried(agent, lost=str(status))
                elif status in _UNLESS_CARRIED:
                    agent.lost = agent.lost or str(status)
