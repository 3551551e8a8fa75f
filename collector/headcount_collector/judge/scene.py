"""What every signal reads: a run as of now, what the rules found, and a few questions asked of both."""

from __future__ import annotations

from dataclasses import dataclass, field

from .rules import Finding
from .timeline import Timeline
from .waits import Moments, waits_until


@dataclass(slots=True)
class Scene:
    """What every signal reads: the run as of now, and what the rules found."""

    line: Timeline
    moments: Moments
    finding: Finding
    now: int = field(init=False)
    settled: bool = field(init=False)
    """Whether the result was delivered, or nobody waits for it."""
    over: bool = field(init=False)
    """Whether the run has ended, was delivered, or is void: then most signals are closed."""

    def __post_init__(self) -> None:
        self.now = self.moments.now
        self.settled = self.finding.delivered_at is not None or self.finding.void_at is not None
        self.over = self.settled or self.finding.end is not None

    @property
    def kind_heard(self) -> bool:
        """Whether any child of this service and agent type was ever heard: silence of the others proves nothing."""
        heard = self.line.facts.neighbours.kind_heard_at
        own = self.line.facts.heard_at
        return (heard is not None and heard <= self.now) or (own is not None and own <= self.now)

    def began(self) -> int | None:
        """Return when the run's work began: its start, or its registration where no start was seen."""
        facts = self.line.facts
        starts = [start.at for start in facts.starts if start.at <= self.now]
        if starts:
            return starts[0]
        registered = [
            launch.at for launch in facts.launches if launch.state == "registered" and launch.at <= self.now
        ]
        return registered[0] if registered else None

    def waited(self, since: int) -> tuple[int, bool]:
        """Return how long the run has waited since a moment, overlaps once, and whether it waits now."""
        total, covered, waiting = 0, since, False
        for wait in waits_until(self.line, self.now):
            end = wait.closed if wait.closed is not None else self.now
            waiting = waiting or wait.closed is None
            if end > covered:
                total += end - max(wait.at, covered)
                covered = end
        return total, waiting

    def tool_limit(self) -> int:
        """Return until when a tool in flight explains the silence; 0 where none is."""
        if not self.line.facts.open_tools:
            return 0
        times = self.line.times
        return max(
            (
                tool.at + times.tool_limit(tool.tool)
                for tool in self.line.facts.open_tools
                if tool.open(self.now)
            ),
            default=0,
        )
