"""Hours in which people are on duty, or machines are mended, as people write them: "Mo-Fr 08:00-18:00 Europe/Berlin"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo

from headcount_alerts.errors import AlertsConfigError
from headcount_collector.judge.policy import SECOND

_DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
_TEXT = re.compile(
    r"(?:(?P<days>[A-Za-z, -]+?)\s+)?(?P<begin>\d{1,2}:\d{2})\s*-\s*(?P<end>\d{1,2}:\d{2})(?:\s+(?P<zone>[\w/+-]+))?"
)
_LOOK_AHEAD = 8 * 24 * 60


@dataclass(frozen=True, slots=True)
class Hours:
    """Days (0 is Monday) and the time of day from `begin` to `end`; an end before the begin is on the next day."""

    days: frozenset[int]
    begin: time
    end: time
    zone: tzinfo
    text: str

    def holds(self, now: int) -> bool:
        """Tell whether a moment (nanoseconds since the epoch) lies in these hours."""
        local = datetime.fromtimestamp(now / SECOND, self.zone)
        at = local.time().replace(tzinfo=None)
        if self.begin < self.end:
            return local.weekday() in self.days and self.begin <= at < self.end
        if at >= self.begin:
            return local.weekday() in self.days
        return at < self.end and (local.weekday() - 1) % 7 in self.days

    def next_change(self, now: int) -> int:
        """Return when these hours next begin or end, to the minute."""
        state = self.holds(now)
        minute = now // (60 * SECOND)
        for ahead in range(1, _LOOK_AHEAD):
            moment = (minute + ahead) * 60 * SECOND
            if self.holds(moment) != state:
                return moment
        return now + _LOOK_AHEAD * 60 * SECOND


def parse_hours(text: str, key: str) -> Hours:
    """Read "Mo-Fr 08:00-18:00 Europe/Berlin" (days and zone may be left out: all, UTC). Raises AlertsConfigError."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise AlertsConfigError(f'{key} = {text!r}: write hours like "Mo-Fr 08:00-18:00 Europe/Berlin"')
    try:
        begin, end = (_time(found[name]) for name in ("begin", "end"))
    except ValueError:
        raise AlertsConfigError(f"{key} = {text!r}: there is no such time of day") from None
    try:
        zone: tzinfo = UTC if found["zone"] in (None, "UTC") else ZoneInfo(found["zone"])
    except (OSError, ValueError, KeyError):
        raise AlertsConfigError(f"{key} = {text!r}: {found['zone']!r} is no time zone") from None
    return Hours(_days(found["days"], text, key), begin, end, zone, text)


def _time(text: str) -> time:
    if text == "24:00":
        return time(0, 0)
    return time.fromisoformat(text.zfill(5))


def _days(text: str | None, whole: str, key: str) -> frozenset[int]:
    if not text:
        return frozenset(range(7))
    found: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        try:
            begin = _DAYS.index(first[:2])
            end = _DAYS.index(last[:2]) if last else begin
        except ValueError:
            raise AlertsConfigError(
                f"{key} = {whole!r}: days are {', '.join(d.title() for d in _DAYS)}"
            ) from None
        found |= {(begin + step) % 7 for step in range((end - begin) % 7 + 1)}
    return frozenset(found)
