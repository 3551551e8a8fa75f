"""The pages: each asks the same functions as the API and shows what they give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from headcount_collector.api.actions import Dismissal, dismiss
from headcount_collector.api.collector import Collector
from headcount_collector.api.details import evidence_of
from headcount_collector.api.health import Running
from headcount_collector.api.lookup import present_of, run_named
from headcount_collector.api.observer import agents_of, observer_of, policy_of
from headcount_collector.api.runs import Mode, Severity, Status
from headcount_collector.api.sessions import session_of
from headcount_collector.dashboard_urls import run_dashboard, session_dashboard
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.words import span
from headcount_collector.page import csrf
from headcount_collector.page.incidents import incidents_of
from headcount_collector.page.ladder import MEANINGS, ladder_of
from headcount_collector.page.picture import chart_of, picture_of
from headcount_collector.page.render import HEADERS, rendered
from headcount_collector.page.words import run_url
from headcount_collector.watch.course import course_of
from headcount_collector.watch.documents import Document, rfc3339
from headcount_collector.watch.kin import kin_of
from headcount_collector.watch.recording import facts_of
from headcount_collector.watch.search import LONGEST, search
from headcount_collector.watch.timeline import timeline
from headcount_collector.watch.verdicts import ORDERS

routes = APIRouter(tags=["page"], include_in_schema=False, default_response_class=HTMLResponse)

PAGE = 50
CLOSED = 20
_EVIDENCE = 200

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "status": Status.__args__,  # type: ignore[attr-defined]  # a Literal has its words there
    "severity": ("page", "warn", "info"),
    "mode": Mode.__args__,  # type: ignore[attr-defined]  # as above
}
_RELATIONS = {
    "parent": "The run in which it was dispatched",
    "owner": "The run in which its owner works",
    "incarnations": "Its other incarnations",
    "children": "Runs below it",
    "twins": "Asked for the same",
    "successors": "Dispatched after it",
    "siblings": "Of the same owner",
}
_WAYS = {
    "run": "id",
    "session": "session",
    "call": "tool call",
    "trace": "trace",
    "owner": "owner",
    "text": "text",
    "nothing": "nothing",
}


def address(request: Request) -> str:
    """Return the path and query that were asked for."""
    path = raw_path(request)
    return path + (f"?{request.url.query}" if request.url.query else "")


def raw_path(request: Request) -> str:
    """Return the path as it was sent: an id may contain what a decoded path would take for something else."""
    raw: bytes | None = request.scope.get("raw_path")
    return quote(request.url.path, safe="/") if raw is None else raw.decode("latin-1").partition("?")[0]


Address = Annotated[str, Depends(address)]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of *Now*: what it lists, and the address of its other pages."""

    name: str
    title: str
    runs: list[Document]
    total: int
    offset: int
    limit: int
    base: Callable[..., str]


def _filters(
    session: str | None = None,
    owner: str | None = None,
    agent: str | None = None,
    service: str | None = None,
    status: Status | None = None,
    failure_class: Annotated[str | None, Query(alias="class")] = None,
    severity: Severity | None = None,
    mode: Mode | None = None,
) -> dict[str, str]:
    """Gather the filters that were given; an empty field of the form is none, but `root` names the root owner."""
    given: dict[str, str | None] = {
        "session": session,
        "owner": owner,
        "agent": agent,
        "service": service,
        "status": status,
        "class": failure_class,
        "severity": severity,
        "mode": mode,
    }
    found = {name: value for name, value in given.items() if value}
    return {**found, "owner": ""} if found.get("owner") == "root" else found


def _without_blanks(request: Request) -> Response | None:
    """Return the way to the same address without the fields that a form left empty."""
    given = request.query_params.multi_items()
    kept = [(name, value) for name, value in given if value]
    if len(kept) == len(given):
        return None
    return RedirectResponse(
        f"{request.url.path}?{urlencode(kept)}" if kept else request.url.path, 303, HEADERS
    )


class Blanks(Exception):  # no error: a way on
    """An address with empty fields; `response` leads to the one without."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def no_blanks(request: Request) -> None:
    """Send an address with empty fields to the one without, before they are read."""
    response = _without_blanks(request)
    if response is not None:
        raise Blanks(response)


@routes.get("/", dependencies=[Depends(no_blanks)])
def now(
    request: Request,
    url: Address,
    collector: Running,
    filters: Annotated[dict[str, str], Depends(_filters)],
    order: Annotated[str, Query(pattern=f"^({'|'.join(ORDERS)})$")] = "urgency",
    section: Annotated[str | None, Query(pattern="^(attention|open|closed)$")] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """Show what is wrong first, then what is open, then what closed lately."""
    chosen: dict[str, tuple[str, dict[str, str], str, int]] = {
        "attention": ("Needs a look", {"attention": "true"}, order, PAGE),
        "open": ("Open and as it should be", {"open": "true", "attention": "false"}, order, PAGE),
        "closed": ("Recently closed", {"open": "false", "attention": "false"}, "latest", CLOSED),
    }
    counts = dict(zip(chosen, collector.verdicts.sections(filters), strict=True))
    shown = []
    for name, (title, wanted, ordered, limit) in chosen.items():
        if section not in (None, name):
            continue
        start = offset if section == name else 0
        runs = collector.verdicts.find({**filters, **wanted}, limit=limit, offset=start, order=ordered)
        base = _base(request, section=name)
        shown.append(Section(name, title, runs, counts[name], start, limit, base))
    return rendered(
        "now.html",
        sections=shown,
        counts=counts,
        filters=filters,
        order=order,
        orders=tuple(ORDERS),
        choices=_CHOICES,
        only=section,
        base_url=str(request.base_url).rstrip("/"),
        observer=observer_of(collector),
        events=f"/api/v1/events?{urlencode({'session': filters['session']})}"
        if "session" in filters
        else "/api/v1/events",
        url=url,
        here="/",
    )


def _base(request: Request, **fixed: str) -> Callable[..., str]:
    """Return what makes addresses like this one with other parameters."""
    given = dict(request.query_params)

    def made(**other: object) -> str:
        query = {**given, **fixed, **{name: str(value) for name, value in other.items()}}
        return f"{raw_path(request)}?{urlencode(query)}"

    return made


@routes.get("/runs/{run:path}")
def show_run(
    request: Request,
    run: str,
    url: Address,
    collector: Running,
    session: str | None = None,
    noted: str | None = None,
    evidence: bool = False,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """Show one run in full."""
    document = run_named(collector, run, session)
    key = document["session"], document["run"]
    facts = facts_of(collector.store, document)
    document = present_of(collector, document, facts)
    course = course_of(collector.store, document, facts, collector.settings.judged_by, time.time_ns())
    records = evidence_of(collector, document, _EVIDENCE, offset) if evidence else None
    base = _base(request, evidence="true")
    return rendered(
        "run.html",
        run={
            **document,
            "timeline": _with_gaps([] if facts is None else timeline(facts)),
            "transitions": collector.verdicts.transitions(*key),
        },
        picture=picture_of(course),
        kin=kin_of(collector.store, document, facts),
        relations=_RELATIONS,
        evidence=records,
        evidence_offset=offset,
        evidence_limit=_EVIDENCE,
        evidence_base=lambda **other: base(**other) + "#evidence",
        evidence_url=base() + "#evidence",
        account=document.get("account"),
        incidents=incidents_of(collector, run=key[1], session=key[0], limit=5),
        noted=_NOTED.get(noted or "", ""),
        csrf=csrf.token(),
        dashboard_url=_dashboard(collector, document),
        observer=observer_of(collector),
        events="/api/v1/events?" + urlencode({"session": key[0], "run": key[1]}),
        url=url,
    )


def _dashboard(collector: Collector, document: Document) -> str:
    """Return the address of a run's dashboard, over the time that the run took; "" without a Grafana."""
    grafana = collector.settings.dashboards_url
    if not grafana:
        return ""
    is_open = document["status"] not in ("completed", "recovered")
    began = moment_of(document["receipts"]["dispatchAt"] or document["since"])
    ended = None if is_open else moment_of(document["delivered_at"] or document["void_at"])
    return run_dashboard(grafana, document["session"], document["run"], began, ended)


def moment_of(text: str | None) -> int | None:
    """Read a moment of a document; None stays None."""
    return None if text is None else moment_ns(text)


_NOTED = {
    "dismissed": "Dismissed. It is recorded, and judged with the next tick.",
    "acknowledged": "Acknowledged. The ladder stands still for as long as the policy says.",
}


def _with_gaps(timeline: Iterable[Document]) -> list[Document]:
    found: list[Document] = []
    before: int | None = None
    for entry in timeline:
        at = moment_ns(entry["at"])
        after = "" if before is None or at - before < 1_000_000_000 else f"+{span(at - before)}"
        found.append({**entry, "after": after})
        before = at
    return found


@routes.post("/runs/{run:path}/dismiss")
def dismiss_run(
    run: str,
    collector: Running,
    form: Annotated[Mapping[str, str], Depends(csrf.form_of)],
    session: str | None = None,
) -> Response:
    """Take the form that dismisses a run."""
    document = run_named(collector, run, session)
    given = {
        name: form.get(name, "")[:limit] for name, limit in (("reason", 500), ("by", 200), ("handed_to", 200))
    }
    dismiss(collector, document, Dismissal(**given))
    to = run_url(document)
    return RedirectResponse(f"{to}{'&' if '?' in to else '?'}noted=dismissed", 303, HEADERS)


@routes.get("/sessions/{session:path}")
def show_session(
    request: Request,
    session: str,
    url: Address,
    collector: Running,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """Show one session: what is owed, and its runs in time."""
    found = session_of(collector, session, 200, offset)
    now_text = rfc3339(time.time_ns()) or ""
    grafana = collector.settings.dashboards_url
    return rendered(
        "session.html",
        **found,
        chart=chart_of(found["runs"], found["lines"], now_text),
        base=_base(request),
        dashboard_url=session_dashboard(grafana, session) if grafana else "",
        observer=observer_of(collector),
        events="/api/v1/events?" + urlencode({"session": session}),
        url=url,
    )


@routes.get("/search")
def find(collector: Running, q: Annotated[str, Query(max_length=LONGEST)] = "") -> Response:
    """Find runs; one that is found by its id is shown at once."""
    by, runs = search(collector.store, q, PAGE * 2)
    if by == "run" and len(runs) == 1:
        return RedirectResponse(run_url(runs[0]), 303, HEADERS)
    return rendered(
        "search.html", q=q, by=by, runs=runs, ways=_WAYS, limit=PAGE * 2, observer=observer_of(collector)
    )


@routes.get("/policy", dependencies=[Depends(no_blanks)])
def show_policy(
    collector: Running, url: Address, agent: str = "", session: str = "", service: str = ""
) -> HTMLResponse:
    """Show the times that hold, and what they would do to an agent type."""
    policy = policy_of(collector, agent or None, session, service)
    return rendered(
        "policy.html",
        policy=policy,
        ladder=ladder_of(policy["times"]),
        meanings=MEANINGS,
        agents=agents_of(collector, 200),
        observer=observer_of(collector),
        url=url,
        here="/policy",
    )


@routes.get("/health")
def show_health(collector: Running, url: Address) -> HTMLResponse:
    """Show how well the observer sees."""
    return rendered(
        "health.html",
        observer=observer_of(collector, 300),
        events="/api/v1/events",
        url=url,
        here="/health",
    )
