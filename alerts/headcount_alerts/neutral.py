"""Makes text from telemetry harmless in each kind of message: no markup, no mention, no link, no line of its own."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable

LONGEST = 300
"""Characters of one value in a message."""

_BREAK = "\u200b"
_LINK = re.compile(r"(?i)\b(?!file:///)([a-z][a-z0-9+.-]*):(//)|\b(www)\.|\b(mailto|tel|javascript|data):")
# Chats make links of bare names of hosts; of those that could as well be files, as main.py, they make none.
_HOST = re.compile(
    r"(?i)(?<![\w.-])(?<![^/]/)(?<!^/)((?:[\w-]+\.)*[\w-]+)\.(ai|app|biz|br|ch|click|cloud|cn|co|com|de|dev|edu|eu|example|fr|gov|in|info"
    r"|io|it|jp|link|live|me|net|nl|online|org|page|pro|ru|shop|site|store|su|tk|top|tv|uk|us|xyz)(?![\w-]|\.\w)"
)
_MARKUP = re.compile(r"[*~`\[\]@]|\|(?=\|)|^[#>+-](?=\s)|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_ANGLES = str.maketrans({"<": "\u2039", ">": "\u203a"})


def plain(text: str) -> str:
    """Return one line without control, invisible and direction characters, tags and links that a tap would follow."""
    kept = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c)[0] != "C"
    )
    line = " ".join(kept.split()).translate(_ANGLES)
    if len(line) > LONGEST:
        line = line[: LONGEST - 1] + "\u2026"
    line = _HOST.sub(r"\1[.]\2", _LINK.sub(_unlinked, line))
    return line.replace("@", "@" + _BREAK)


def slack(text: str) -> str:
    """Return text for Slack's mrkdwn: its three characters are escaped, its markup broken."""
    return _MARKUP.sub(_broken, html.escape(plain(text).replace(_BREAK, ""), quote=False))


def markdown(text: str) -> str:
    """Return text for the markdown of Discord, Teams, Mattermost, Google Chat, Telegram, ntfy."""
    return _MARKUP.sub(_broken, plain(text).replace(_BREAK, ""))


def markup(text: str) -> str:
    """Return text for HTML mail."""
    return html.escape(plain(text))


STYLES: dict[str, Callable[[str], str]] = {
    "text": plain,
    "slack": slack,
    "markdown": markdown,
    "html": markup,
}
"""By the kind of template that the text goes into."""


def _unlinked(found: re.Match[str]) -> str:
    if found[2]:
        return f"{found[1]}[:]//"
    if found[3]:
        return f"{found[3]}[.]"
    return f"{found[4]}[:]"


def _broken(found: re.Match[str]) -> str:
    return found[0] + _BREAK
