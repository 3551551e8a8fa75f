"""The pages of incidents, over the routes that the alerts add to the API; without alerts they say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from headcount_collector.api.collector import Collector
from headcount_collector.api.health import Running
from headcount_collector.api.observer import observer_of
from headcount_collector.api.problems import Problem
from headcount_collector.page import csrf
from headcount_collector.page.render import HEADERS, rendered
from headcount_collector.page.words import incident_url, recover_command
from headcount_collector.watch.documents import Document

routes = APIRouter(tags=["page"], include_in_schema=False, default_response_class=HTMLResponse)

_LIST = "/api/v1/incidents"
_ONE = "/api/v1/incidents/{number}"
_ACK = "/api/v1/incidents/{number}/ack"
_SILENCES = "/api/v1/silences"
_SILENCE = "/api/v1/silences/{number}"
PAGE = 50


def endpoint(collector: Collector, method: str, path: str) -> Callable[..., Document] | None:
    """Return the function behind a route that some listener added to the API; None where there is none."""
    for listener in collector.listeners:
        for route in listener.routes.routes:
            if isinstance(route, APIRoute) and route.path == path and method in (route.methods or ()):
                found: Callable[..., Document] = route.endpoint
                return found
    return None


def incidents_of(collector: Collector, **filters: Any) -> list[Document]:
    """Return the incidents that match, open and severe ones first; none where no alerts are installed."""
    ask = endpoint(collector, "GET", _LIST)
    return [] if ask is None else list(ask(**filters)["incidents"])


def _asked(collector: Collector, method: str, path: str) -> Callable[..., Document]:
    found = endpoint(collector, method, path)
    if found is None:
        raise Problem(404, "this collector has no alerts: install them with pip install 'headcount[alerts]'")
    return found


def _body(ask: Callable[..., Document], **fields: Any) -> Any:
    """Build the body that an endpoint takes; a bad value is a problem that names it."""
    model = get_type_hints(ask)["body"]
    try:
        return model(**fields)
    except ValueError as error:
        raise Problem(422, f"the form was not taken: {error}") from None


@routes.get("/incidents")
def list_incidents(
    request: Request,
    collector: Running,
    state: Annotated[Literal["open", "closed"] | None, Query()] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    noted: str = "",
    fleet: Annotated[str | None, Query(max_length=64)] = None,
) -> HTMLResponse:
    """List incidents, open and severe ones first, and what is silenced; or those that a fleet or group speaks for."""
    ask = endpoint(collector, "GET", _LIST)
    found: Document = {"incidents": [], "total": 0}
    if ask is not None:
        found = ask(state=state, fleet=fleet, limit=PAGE, offset=offset)
    silences = endpoint(collector, "GET", _SILENCES)
    query = "".join(f"{k}={quote(v)}&" for k, v in (("state", state), ("fleet", fleet)) if v)
    return rendered(
        "incidents.html",
        installed=ask is not None,
        incidents=found["incidents"],
        total=found["total"],
        offset=offset,
        limit=PAGE,
        base=lambda offset: f"/incidents?{query}offset={offset}",
        silences=silences()["silences"] if silences is not None else [],
        state=state,
        fleet=fleet,
        noted=_NOTED.get(noted, ""),
        csrf=csrf.token(),
        observer=observer_of(collector),
        events="/api/v1/events",
        url=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        here="/incidents",
    )


@routes.get("/incidents/{number}")
def show_incident(request: Request, number: str, collector: Running, noted: str = "") -> HTMLResponse:
    """Show one incident: its state, every decision with its reason, its messages."""
    incident = _asked(collector, "GET", _ONE)(number)
    return rendered(
        "incident.html",
        incident=incident,
        sent=sum(message["outcome"] == "sent" for message in incident["outbox"]),
        wrong=list(_with_commands(incident)),
        noted=_NOTED.get(noted, ""),
        csrf=csrf.token(),
        observer=observer_of(collector),
        events="/api/v1/events",
        url=incident_url(incident),
        here="/incidents",
    )


def _with_commands(incident: Document) -> Iterator[Document]:
    """Yield what is wrong, each run's first with the command that fetches its result."""
    commands = {
        (member["session"], member["run"]): recover_command(member)
        for member in incident["members"]
        if member["status"]
    }
    for wrong in incident["wrong"]:
        yield {**wrong, "recover": commands.pop((wrong["session"], wrong["run"]), "")}


_NOTED = {
    "acknowledged": "Acknowledged: the ladder rests for what is wrong now.",
    "silenced": "Silenced: nothing more is said of it until the silence ends.",
    "added": "Added: what it matches is kept back while it holds, and told afterwards if it still stands.",
    "ended": "Ended: what it kept back is told now.",
}
Form = Annotated[Mapping[str, str], Depends(csrf.form_of)]


@routes.post("/incidents/{number}/ack")
def acknowledge(number: str, collector: Running, form: Form) -> Response:
    """Take the form that says that somebody is on it."""
    ask = _asked(collector, "POST", _ACK)
    ask(number, _body(ask, by=form.get("by", "").strip()[:200]))
    to = form.get("next", "")
    back = to if to.startswith("/runs/") and to.isprintable() else incident_url({"id": number})
    return RedirectResponse(f"{back}{'&' if '?' in back else '?'}noted=acknowledged", 303, HEADERS)


@routes.post("/incidents/{number}/silence")
def silence(number: str, collector: Running, form: Form) -> Response:
    """Take the form that keeps messages about the owner of an incident back for a while."""
    incident = _asked(collector, "GET", _ONE)(number)
    ask = _asked(collector, "POST", _SILENCES)
    matchers = [f'incident="{number}"']
    if incident["kind"] == "owner":  # also what comes later for the same owner
        matchers = [f'owner="{incident["owner"]}"', f'session="{incident["session"]}"']
    body = _body(
        ask,
        matchers=matchers,
        duration=form.get("duration", "2h"),
        by=form.get("by", "").strip()[:200],
        reason=form.get("reason", "").strip()[:500],
    )
    ask(body)
    return RedirectResponse(f"{incident_url(incident)}?noted=silenced", 303, HEADERS)


@routes.post("/silences")
def add_silence(collector: Running, form: Form) -> Response:
    """Take the form of a silence, or of a maintenance window to come."""
    ask = _asked(collector, "POST", _SILENCES)
    since = form.get("since", "").strip()
    body = _body(
        ask,
        matchers=[line.strip() for line in form.get("matchers", "").splitlines() if line.strip()],
        duration=form.get("duration", "").strip(),
        since=(since if since.endswith("Z") else f"{since}Z") if since else None,
        by=form.get("by", "").strip()[:200],
        reason=form.get("reason", "").strip()[:500],
    )
    ask(body)
    return RedirectResponse("/incidents?noted=added#silences", 303, HEADERS)


@routes.post("/silences/{number}/end")
def end_silence(number: str, collector: Running, form: Form) -> Response:
    """Take the form that ends a silence."""
    _asked(collector, "DELETE", _SILENCE)(number)
    return RedirectResponse("/incidents?noted=ended#silences", 303, HEADERS)
