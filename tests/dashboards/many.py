"""Many runs, made by the database itself: what the benchmarks and the crowded tests ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headcount_collector.store.client import Store

_COLUMNS = (
    "session_id, run_id, judged_at, status, failure_class, leaning, severity, outcome, owner_id, parent_run_id, agent,"
    " service, mode, names, is_open, is_abnormal, remaining, undelivered, dispatched_at, since, last_progress_at,"
    " ended_at, delivered_at, next_due, model, total_s, working_s, waiting_s, idle_s, delivery_s, document, version"
)
_DOCUMENT = """concat(
    '{"session":"', session_id, '","run":"', run_id, '","description":"look at part ', toString(number % 97),
    '","deadline":"2026-12-01T00:15:00.000Z","abnormal_since":"2026-12-01T00:16:00.000Z","evidence":["rule 9: in time"],',
    '"receipts":{"runId":"', run_id, '"},"group":{"counts":true},"clocks":{},"signals":[',
    if(number % 200 = 0, '{"name":"idle_stall","since":"2026-12-01T00:12:00.000Z","severity":"page","evidence":"still"}', ''),
    '],"pad":"', repeat(hex(MD5(run_id)), 20), '"}')"""

_FULL_DOCUMENT = """
    replaceAll(replaceAll(
        transform(status, {statuses:Array(String)}, {documents:Array(String)}, ''), '@run@', run_id), '@session@', session_id)"""

_VERDICTS = """
INSERT INTO verdict ($columns)
SELECT
    concat('session-', toString(intDiv(number, 20))) AS session_id,
    concat('run-', toString(number)) AS run_id,
    now64(9) AS judged_at,
    multiIf(
        number % 100 = 0, 'active', number % 1000 = 1, 'suspect_delivery_failure',
        number % 1000 = 2, 'done_but_not_forwarded', number % 1000 = 3, 'blocked',
        number % 50 = 7, 'recovered', 'completed') AS status,
    multiIf(
        status IN ('active', 'completed', 'recovered'), '', status = 'blocked', 'no_completion_event',
        status = 'done_but_not_forwarded', status, 'unclear_slow_or_lost') AS failure_class,
    if(failure_class = 'unclear_slow_or_lost', 'silent', '') AS leaning,
    multiIf(failure_class = '', '', status = 'suspect_delivery_failure', 'warn', 'page') AS severity,
    if(status = 'completed', 'ok', '') AS outcome,
    if(number % 3 = 0, '', concat('owner-', toString(number % 7))) AS owner_id,
    '' AS parent_run_id,
    concat('agent-', toString(number % 12)) AS agent,
    concat('service-', toString(number % 3)) AS service,
    'background' AS mode,
    [run_id] AS names,
    status NOT IN ('completed', 'recovered') AS is_open,
    failure_class != '' AS is_abnormal,
    is_open AS remaining,
    status = 'done_but_not_forwarded' AS undelivered,
    toDateTime64(now64(9) - toIntervalSecond(3600 + number * 7919 % 2588400), 9) AS dispatched_at,
    dispatched_at + toIntervalSecond(600) AS since,
    dispatched_at + toIntervalSecond(500) AS last_progress_at,
    if(is_open AND NOT undelivered, toDateTime64(0, 9), dispatched_at + toIntervalSecond(580)) AS ended_at,
    if(is_open, toDateTime64(0, 9), dispatched_at + toIntervalSecond(580 + number % 50)) AS delivered_at,
    toDateTime64(0, 9) AS next_due,
    concat('model-', toString(number % 4)) AS model,
    600 AS total_s, 400 AS working_s, 50 AS waiting_s, 100 AS idle_s, 50 AS delivery_s,
    $document AS document,
    number + 1 AS version
FROM numbers({runs:UInt64})
SETTINGS max_query_size = 10000000
"""

_TRANSITIONS = (
    """
    INSERT INTO transition
    SELECT
        dispatched_at, dispatched_at, session_id, run_id, owner_id, agent, service,
        '', 'active', '', '', '', '9', false, 'in time'
    FROM verdict SETTINGS max_partitions_per_insert_block = 0
    """,
    """
    INSERT INTO transition
    SELECT
        since + toIntervalMillisecond(700), since, session_id, run_id, owner_id, agent, service,
        'active', if(status = 'recovered', 'suspect_delivery_failure', status),
        if(failure_class = '', 'no_completion_event', failure_class), leaning, 'page', '8', false, 'late'
    FROM verdict WHERE is_abnormal OR status = 'recovered' SETTINGS max_partitions_per_insert_block = 0
    """,
    """
    INSERT INTO transition
    SELECT
        delivered_at + toIntervalSecond(30), delivered_at, session_id, run_id, owner_id, agent, service,
        if(status = 'recovered', 'suspect_delivery_failure', 'active'), status, '', '', '', '2', false, 'delivered'
    FROM verdict WHERE NOT is_open SETTINGS max_partitions_per_insert_block = 0
    """,
)

_SPANS = """
INSERT INTO otel_traces (Timestamp, TraceId, SpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, SpanAttributes, Duration, StatusCode)
SELECT
    at, lower(hex(MD5(run_id))), substring(lower(hex(MD5(concat(run_id, event)))), 1, 16), concat('subagent.', event),
    'Internal', service,
    CAST(map(
        'headcount.received_unix_nano', toString(toUnixTimestamp64Nano(at) + 400000000),
        'deployment.environment.name', if(cityHash64(session_id) % 3 = 0, 'staging', 'production')
    ), 'Map(LowCardinality(String), String)'),
    CAST(map(
        'subagent.producer.id', concat('of ', session_id),
        'subagent.producer.seq', toString(1 + number % 20 * 4 + transform(event, ['dispatch', 'start', 'tool_call', 'child_done'], [0, 1, 2, 3], 0)),
        'subagent.event', event, 'subagent.run.id', run_id, 'session.id', session_id, 'gen_ai.agent.name', agent,
        'subagent.phase', if(event = 'tool_call', 'ended', ''), 'gen_ai.tool.name', if(event = 'tool_call', 'Read', '')
    ), 'Map(LowCardinality(String), String)'),
    if(event = 'tool_call', 2000000000, 0), 'Unset'
FROM
(
    SELECT
        session_id, run_id, agent, service, event, toUInt64OrZero(substring(run_id, 5)) AS number,
        dispatched_at + toIntervalSecond(transform(event, ['dispatch', 'start', 'tool_call', 'child_done'], [0, 1, 300, 580], 0)) AS at
    FROM verdict
    ARRAY JOIN ['dispatch', 'start', 'tool_call', 'child_done'] AS event
    WHERE cityHash64(run_id) % {of:UInt64} = 0
)
SETTINGS max_partitions_per_insert_block = 0
"""

_BESIDES = (
    """
    INSERT INTO collector_number
    SELECT
        now64(3) - toIntervalSecond(number * 15),
        arrayJoin([
            'queued_requests', 'hooks_waiting', 'refused_requests_total', 'rejected_spans_total', 'failed_commits_total',
            'hooks_refused_total', 'hooks_dropped_total', 'accepted_spans_total', 'commits_total', 'open_runs', 'store_bytes']),
        '', intDiv(1000000 - number, 100)
    FROM numbers(172800)
    SETTINGS max_partitions_per_insert_block = 0
    """,
    """
    INSERT INTO incident
        (incident_id, session_id, owner_id, kind, is_open, level, severity, opened_at, closed_at, runs, unmet, document, version)
    SELECT
        concat('incident-', toString(number)), concat('session-', toString(number * 7)), '', 'owner',
        number % 20 = 0 AS is_open,
        'notified', if(number % 2 = 0, 'page', 'warn'), now64(9) - toIntervalSecond(intDiv(number * 518400000, {runs:UInt64})) AS opened_at,
        if(is_open, toDateTime64(0, 9), opened_at + toIntervalSecond(900)), [concat('run-', toString(number * 140))], 1, {incident:String}, 1
    FROM numbers(intDiv({runs:UInt64}, 200))
    """,
    """
    INSERT INTO alert_message (message_id, incident_id, number, step, channel, decided_at, document)
    SELECT concat('message-', toString(number)), concat('incident-', toString(number % 1000)), 1, 'notified', 'slack',
        now64(9) - toIntervalSecond(number * 10), '{}'
    FROM numbers(8640)
    """,
    """
    INSERT INTO alert_attempt (message_id, incident_id, channel, at, outcome, error, retry_at, reference)
    SELECT message_id, incident_id, channel, decided_at + toIntervalMillisecond(800), 'sent', '', toDateTime64(0, 9), ''
    FROM alert_message
    """,
)


def fill(
    store: Store,
    runs: int,
    *,
    spans_of: int = 10,
    documents: Mapping[str, Mapping[str, Any]] | None = None,
    incident: str = "{}",
) -> None:
    """Fill a migrated database with `runs` runs over thirty days, spans of one in `spans_of`, incidents of a part, and a
    day of ticks, of the collector's numbers, and of messages.

    `documents` are judged documents by status, which every run of that status then has, but for run and session;
    `incident` is the document of every incident.
    """
    texts = {status: _template(document) for status, document in (documents or {}).items()}
    statement = _VERDICTS.replace("$columns", _COLUMNS)
    statement = statement.replace("$document", _FULL_DOCUMENT if texts else _DOCUMENT)
    store.command(statement, {"runs": runs, "statuses": list(texts), "documents": list(texts.values())})
    for statement in _TRANSITIONS:
        store.command(statement)
    store.command(_SPANS, {"of": spans_of})
    for statement in _BESIDES:
        named = {"runs": runs, "incident": incident}
        store.command(statement, {key: value for key, value in named.items() if f"{{{key}:" in statement})
    store.command(
        "INSERT INTO evaluation SELECT now64(9) - toIntervalSecond(number), 30000000 + number % 1000, 1000000, 3, 4, 7,"
        " 1, 10000, 'ok', now64(9) - toIntervalSecond(number) FROM numbers(86400)"
    )


def _template(document: Mapping[str, Any]) -> str:
    receipts = {**document["receipts"], "runId": "@run@"}
    full = {**document, "run": "@run@", "session": "@session@", "names": ["@run@"], "receipts": receipts}
    return json.dumps(full, separators=(",", ":"))
