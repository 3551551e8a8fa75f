"""What `headcount demo` plays, and what must have been believed of each run for the incidents to count as told apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.text import Text

from headcount_collector.cli.words import Document, elapsed, finding, localised, status_text

STORY = {
    "zero-tools": "asks its model and is never answered; a watchdog kills it",
    "its-twin": "is asked for the same by mistake, and does the work",
    "mute-teammate": "works, ends its turn, and has no means to send what it found",
    "first-of-three": "is done first, and the owner takes that for everything",
    "second-of-three": "works on while the owner has answered already",
    "third-of-three": "works on while the owner has answered already",
    "lost-delivery": "is done in time; its notice is lost, and the result is fetched later",
    "slow-and-well": "takes three times as long as expected, and never stops moving",
}
EXPECTED = {
    "zero-tools": ("suspect_delivery_failure", "blocked"),
    "its-twin": ("active", "completed"),
    "mute-teammate": ("active", "done_but_not_forwarded"),
    "first-of-three": ("active", "completed"),
    "second-of-three": ("active", "completed"),
    "third-of-three": ("active", "completed"),
    "lost-delivery": ("done_but_not_forwarded", "recovered"),
    "slow-and-well": ("suspect_delivery_failure", "completed"),
}
"""What each run must have been seen as, in this order, for the incidents to count as told apart."""
EXPECTED_CLASSES = {
    "zero-tools": "child_failed_unreported",
    "mute-teammate": "done_but_not_forwarded",
}
EXPECTED_SIGNALS = {
    "zero-tools": {"zero_progress", "duplicate_dispatch", "first_token_timeout"},
    "its-twin": {"duplicate_dispatch"},
    "mute-teammate": {"structurally_mute"},
    "second-of-three": {"premature_owner_final"},
    "third-of-three": {"premature_owner_final"},
}


@dataclass(slots=True)
class Seen:
    """What was believed of each run while the incidents were played."""

    began_ns: int
    statuses: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, set[str]] = field(default_factory=dict)
    signals: dict[str, set[str]] = field(default_factory=dict)
    log: list[Text] = field(default_factory=list)

    def add(self, document: Document, now: int) -> list[Text]:
        """Note what is believed of a run; return a line for each thing that turned."""
        run: str = document["run"]
        lines: list[Text] = []
        statuses = self.statuses.setdefault(run, [])
        if not statuses or statuses[-1] != document["status"]:
            statuses.append(document["status"])
            if len(statuses) > 1:
                said = elapsed(finding(document), now)
                lines.append(self._line(now, f"{run} is now ", status_text(document), said))
        if document["class"]:
            self.classes.setdefault(run, set()).add(document["class"])
        known = self.signals.setdefault(run, set())
        for signal in document["signals"]:
            if signal["name"] not in known:
                known.add(signal["name"])
                name = Text(signal["name"].replace("_", " "), style="yellow")
                said = localised(elapsed(signal["evidence"], now))
                lines.append(self._line(now, f"{run}: ", name, said))
        self.log += lines
        return lines

    def _line(self, now: int, run: str, what: Text, said: str) -> Text:
        after = f"{(now - self.began_ns) / 1e9:5.1f} s  "
        return Text.assemble(
            (after, "dim"), run, what, (f"  {said}", "dim"), no_wrap=True, overflow="ellipsis"
        )

    def missed(self) -> list[str]:
        """Return what was not told apart."""
        found = []
        for run, expected in EXPECTED.items():
            seen = self.statuses.get(run, [])
            if not _in_order(expected, seen) or (seen and seen[-1] != expected[-1]):
                found.append(f"{run} was {' → '.join(seen) or 'never seen'}, not {' → '.join(expected)}")
            if (wanted := EXPECTED_CLASSES.get(run)) and wanted not in self.classes.get(run, set()):
                found.append(f"{run} was never {wanted}")
            for name in sorted(EXPECTED_SIGNALS.get(run, set()) - self.signals.get(run, set())):
                found.append(f"{run} never had {name}")
        return found


def _in_order(expected: tuple[str, ...], seen: list[str]) -> bool:
    rest = iter(seen)
    return all(status in rest for status in expected)
