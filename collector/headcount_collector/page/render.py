"""Renders templates: everything that is not ours is escaped, and every answer carries a strict content security policy."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from headcount_collector.cli.words import moment_ns
from headcount_collector.judge.words import span
from headcount_collector.page import words

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it a browser gives a form no origin, and the guard takes it for another site.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

SHAPES = {
    "dispatch": "M-4-6L6 0L-4 6Z",
    "start": "M0-5.5A5.5 5.5 0 1 1 0 5.5A5.5 5.5 0 1 1 0-5.5Z",
    "first_token": "M0-6L6 5L-6 5Z",
    "progress": "M-1.6-5H1.6V5H-1.6Z",
    "end": "M-5-5H5V5H-5Z",
    "kill": "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
    "gone": "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
    "refused": "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
    "received": "M0-6L6 0L0 6L-6 0Z",
    "forwarded": "M-6-2.5H0V-6L7 0L0 6V2.5H-6Z",
    "delivered": "M-6 0L-3.5-2.5L-1 0L4-5.5L6-3.5L-1 4.5Z",
    "consumed": "M-6 0L-3.5-2.5L-1 0L4-5.5L6-3.5L-1 4.5Z",
    "grace": "M-5-5H5L0 0L5 5H-5L0 0Z",
}
"""Marks by kind, around their moment: a shape of its own each, so that colour is never needed."""

_environment = Environment(
    loader=PackageLoader("headcount_collector.page"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=words.plain,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.globals |= {
    "status": words.status,
    "status_named": words.status_named,
    "what": words.what,
    "advice": words.advice,
    "advice_on": words.advice_on,
    "besides": words.besides,
    "recover_command": words.recover_command,
    "run_url": words.run_url,
    "api_url": words.api_url,
    "session_url": words.session_url,
    "owner_name": words.owner_name,
    "other_names": words.other_names,
    "labelled": words.labelled,
    "account_parts": words.account_parts,
    "incident_url": words.incident_url,
    "incident_title": words.incident_title,
    "wrong_words": words.wrong_words,
    "severity_signs": words.SEVERITY_SIGNS,
    "shapes": SHAPES,
    "observer": None,
    "events": None,
    "here": "",
    "url": "/",
    "q": "",
}


def _now() -> int:
    return time.time_ns()


_environment.filters |= {
    "ago": lambda text: words.ago(text, _now()),
    "at": words.at,
    "exact": words.exact,
    "moments": words.moments,
    "until": lambda text: span((moment_ns(text) or 0) - _now()),
    "future": lambda text: (moment_ns(text) or 0) > _now(),
    "path": lambda text: quote(text, safe=""),
}


def rendered(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page as a response."""
    text = _environment.get_template(template).render(**values)
    # A lone surrogate, which JSON can carry, has no UTF-8.
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=HEADERS)
