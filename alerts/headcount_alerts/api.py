"""Routes of the alerts: incidents and acknowledgements, silences, the outbox, tests, Slack's button."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from headcount_alerts.errors import AlertsConfigError, Resting, UnknownIncident
from headcount_alerts.preview import incident_of_run, preview
from headcount_alerts.service import Alerts, receivers_of
from headcount_alerts.settings import SlackChannel, secret_of
from headcount_alerts.silence import new_silence, parse_matcher
from headcount_alerts.views import decision_view, delivery_view, incident_view, silence_view
from headcount_collector.api.problems import Problem
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.judge.policy import SECOND, PolicyError, parse_duration
from headcount_collector.replay.dismissal import SAID
from headcount_collector.watch.listener import Host
from headcount_collector.watch.verdicts import VerdictStore

Document = dict[str, Any]
T = TypeVar("T")

_COMMIT_S = 30.0
_MOST_DISMISSED = 10_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Acknowledging(_Body):
    """Who is on it."""

    by: str = Field(default="", max_length=200)


class Silencing(_Body):
    """What is not to be told, and until when: `duration` or `until`."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["duration"]}, {"required": ["until"]}]}
    )
    matchers: list[str] = Field(
        min_length=1, max_length=20, description='As agent="reviewer" or class=~"owner_.*".'
    )
    duration: str | None = Field(default=None, description="As 2h; or give `until`.")
    since: datetime | None = Field(default=None, description="Now, if not given.")
    until: datetime | None = None
    by: str = Field(default="", max_length=200)
    reason: str = Field(default="", max_length=500)


class Dismissing(_Body):
    """Which runs are void from now on: every given matcher holds, and one must be given."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": "string"}}}
                for name in ("session", "owner", "agent", "service", "class")
            ]
        }
    )
    session: str | None = None
    owner: str | None = None
    agent: str | None = None
    service: str | None = None
    failure_class: str | None = Field(default=None, alias="class")
    reason: str = Field(default="", max_length=500)
    handed_to: str = Field(default="", max_length=200)


class Testing(_Body):
    """The receiver whose channels get a test message."""

    receiver: str


def routes_of(alerts: Alerts, host: Host) -> APIRouter:
    """Return the routes over running alerts."""
    routes = APIRouter(tags=["incidents"])
    _incidents(routes, alerts)
    _silences(routes, alerts)
    _dismissals(routes, host)
    _trials(routes, alerts, host)
    _slack(routes, alerts)
    return routes


def _incidents(routes: APIRouter, alerts: Alerts) -> None:
    @routes.get("/api/v1/incidents")
    def list_incidents(
        state: Literal["open", "closed"] | None = None,
        session: str | None = None,
        owner: Annotated[str | None, Query(description="Empty: the root owner.")] = None,
        severity: Literal["info", "warn", "page"] | None = None,
        kind: Literal["owner", "uninstrumented", "group", "fleet", "observer", "gate"] | None = None,
        fleet: Annotated[str | None, Query(description="Those that this fleet or group collected.")] = None,
        run: str | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    ) -> Document:
        """List incidents, open and severe ones first."""
        given = {"state": state, "session": session, "owner": owner, "severity": severity, "kind": kind}
        given |= {"fleet": fleet, "run": run}
        filters: dict[str, str] = {name: value for name, value in given.items() if value is not None}
        found = alerts.journal.find(filters, limit=limit, offset=offset)
        return {
            "incidents": [incident_view(document, members=False) for document in found],
            "total": alerts.journal.count(filters),
            "limit": limit,
            "offset": offset,
        }

    @routes.get("/api/v1/incidents/{number}")
    def show_incident(number: str) -> Document:
        """Show one incident with its runs, every decision about it, and its messages."""
        document = alerts.journal.get(number)
        if document is None:
            raise Problem(404, f"no incident has the id {number!r}; GET /api/v1/incidents lists them")
        return {
            **incident_view(document),
            "decisions": [decision_view(d) for d in alerts.journal.decisions(number)],
            "outbox": [delivery_view(d) for d in alerts.postbook.list(incident=number)],
        }

    @routes.post("/api/v1/incidents/{number}/ack")
    def acknowledge(number: str, body: Acknowledging) -> Document:
        """Say that somebody is on it: the ladder rests for what is wrong now. It closes nothing."""
        _found(lambda: alerts.acknowledge(number, body.by.strip()))
        return show_incident(number)

    @routes.get("/api/v1/alerts/outbox")
    def outbox(
        waiting: Annotated[bool, Query(description="Only what is not delivered yet.")] = False,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Document:
        """List messages with what became of them, the latest first."""
        return {"messages": [delivery_view(d) for d in alerts.postbook.list(open_only=waiting, limit=limit)]}


def _silences(routes: APIRouter, alerts: Alerts) -> None:
    @routes.get("/api/v1/silences")
    def list_silences() -> Document:
        """List silences that have not ended."""
        now = time.time_ns()
        return {"silences": [silence_view(silence, now) for silence in alerts.journal.silences(now)]}

    @routes.post("/api/v1/silences", status_code=201)
    def add_silence(body: Silencing) -> Document:
        """Keep messages back for a while. Incidents go on, and are told when it ends if they still stand."""
        now = time.time_ns()
        since = now if body.since is None else _ns(body.since, "since")
        if (body.duration is None) == (body.until is None):
            raise Problem(422, 'give either "duration" (as "2h") or "until"')
        try:
            until = (
                since + parse_duration(body.duration, "duration")
                if body.until is None
                else _ns(body.until, "until")
            )
            matchers = [parse_matcher(text) for text in body.matchers]
            silence = new_silence(matchers, since, until, by=body.by, reason=body.reason)
        except (AlertsConfigError, PolicyError) as error:
            raise Problem(422, str(error)) from None
        _found(lambda: alerts.silence(silence))
        return silence_view(silence, now)

    @routes.delete("/api/v1/silences/{number}")
    def end_silence(number: str) -> Document:
        """End a silence now."""
        return silence_view(_found(lambda: alerts.end_silence(number)), time.time_ns())


def _dismissals(routes: APIRouter, host: Host) -> None:
    verdicts = VerdictStore(host.store)

    @routes.post("/api/v1/dismiss")
    def dismiss(body: Dismissing) -> Document:
        """Declare every open run that matches void. A dismissal is evidence, one record for each run."""
        given = {
            "session": body.session,
            "owner": body.owner,
            "agent": body.agent,
            "service": body.service,
            "class": body.failure_class,
        }
        filters = {name: value for name, value in given.items() if value is not None}
        if not filters:
            raise Problem(422, f"dismissing everything needs a matcher: {', '.join(given)}")
        filters["open"] = "true"
        if (total := verdicts.count(filters)) > _MOST_DISMISSED:
            raise Problem(
                422, f"{total} runs match; at most {_MOST_DISMISSED} are dismissed at once: add a matcher"
            )
        found = verdicts.find(filters, limit=_MOST_DISMISSED)
        said = dict(zip(SAID, (body.reason.strip(), body.handed_to.strip()), strict=True))
        attributes = {name: value for name, value in said.items() if value}
        at = time.time_ns()
        records = [
            Record(
                "dismiss",
                at,
                run=d["run"],
                session=d["session"] or None,
                attributes=dict(attributes),
                service="headcount",
            )
            for d in found
        ]
        if records:
            host.submit(export_request(records).SerializeToString()).result(timeout=_COMMIT_S)
        return {"dismissed": [{"session": d["session"], "run": d["run"]} for d in found]}


def _trials(routes: APIRouter, alerts: Alerts, host: Host) -> None:
    verdicts = VerdictStore(host.store)

    @routes.get("/api/v1/alerts/receivers")
    def receivers() -> Document:
        """List receivers with the names of their channels."""
        return {"receivers": receivers_of(alerts), "configured": alerts.routing.configured}

    @routes.get("/api/v1/alerts/preview", responses={404: {"description": "No run goes by this name."}})
    def preview_run(run: str, session: str | None = None) -> Document:
        """Say where a run would go now, and what would be said. Nothing is sent."""
        found = verdicts.named(run, session)
        if not found:
            raise Problem(404, f"no run goes by {run!r}; GET /api/v1/runs lists those that are known")
        now = time.time_ns()
        incident = incident_of_run(found[0], now, alerts.origin_of(found[0]))
        return preview(incident, now, alerts.routing, alerts.texts, alerts.settings.url)

    @routes.post(
        "/api/v1/alerts/test", responses={404: {"description": "There is no receiver of this name."}}
    )
    def send_test(body: Testing) -> Document:
        """Send a test message over every channel of a receiver, and say what became of each."""
        try:
            return {"channels": alerts.test(body.receiver)}
        except AlertsConfigError as error:
            raise Problem(404, str(error)) from None


def _slack(routes: APIRouter, alerts: Alerts) -> None:
    secrets = [
        secret
        for receiver in alerts.settings.receivers.values()
        for table in receiver.channels
        if isinstance(table, SlackChannel) and (secret := secret_of(table, "signing_secret")) is not None
    ]

    @routes.post("/alerts/slack", include_in_schema=False)
    async def slack(request: Request) -> JSONResponse:
        """Take Slack's button. The request is signed with the app's signing secret, and counts for five minutes."""
        if not secrets:
            raise Problem(404, "no Slack app is configured (signing_secret)")
        from slack_sdk.signature import SignatureVerifier

        from headcount_alerts.channels.slack import pressed

        body = await request.body()
        headers = {name.title(): value for name, value in request.headers.items()}
        if not any(SignatureVerifier(secret).is_valid_request(body, headers) for secret in secrets):
            raise Problem(
                401, "the signature is not that of a configured Slack app, or is older than five minutes"
            )
        found = pressed((parse_qs(body.decode("utf-8", "replace")).get("payload") or [""])[0])
        if found is None:
            return JSONResponse({})
        from starlette.concurrency import run_in_threadpool

        number, who = found
        try:
            await run_in_threadpool(alerts.acknowledge, number, who)
            text = f"{who} is on it."
        except (UnknownIncident, Resting) as error:
            text = str(error)
        return JSONResponse({"response_type": "ephemeral", "replace_original": False, "text": text})


def _found(do: Callable[[], T]) -> T:
    try:
        return do()
    except UnknownIncident as error:
        raise Problem(404, str(error)) from None
    except Resting as error:
        raise Problem(409, str(error)) from None


def _ns(moment: datetime, name: str) -> int:
    if moment.tzinfo is None:
        raise Problem(422, f"{name} needs a time zone, as 2030-01-01T00:00:00Z")
    return round(moment.timestamp()) * SECOND
