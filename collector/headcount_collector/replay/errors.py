"""What can go wrong in a replay besides the file itself."""

from __future__ import annotations

from headcount_collector.errors import HeadcountError


class ReplayError(HeadcountError):
    """Evidence in a replay file that the collector would refuse; the text names file and line."""
