"""A store with a past: closed and open runs written into the tables of facts by the engine itself, a million in seconds."""

from __future__ import annotations

from headcount_collector.store.client import Store

PER_SESSION = 10
_CHUNK = 500_000

_RUNS = """
WITH
    concat({prefix:String}, toString(number)) AS run,
    concat({prefix:String}, 's', toString(intDiv(number, {per_session:UInt64}))) AS session,
    halfMD5(session) AS session_hash,
    halfMD5(concat(session, '\\0', run)) AS run_hash,
    number - intDiv(number, {per_session:UInt64}) * {per_session:UInt64} AS place,
    {t0:Int64} AS t0
"""
_FROM = "FROM numbers_mt({first:UInt64}, {count:UInt64})"
_EVIDENCE = f"""
INSERT INTO evidence
(
    session_key, run_key, session_id, event, run_id, identity, event_ns, start_ns, received_ns, producer, span_id, service, agent,
    attributes
)
{_RUNS}
SELECT
    session_hash, run_hash, session, told.2, run, concat(session, ':', toString(place * 9 + told.1)),
    t0 + told.3 * 1000000000 AS at, at, at, session, lower(hex(cityHash64(run, told.1))), 'bench', if(told.1 = 1, 'worker', ''),
    CAST(told.4, 'Map(LowCardinality(String), String)')
FROM
(
    SELECT
        number,
        arrayJoin(arraySlice([
            (1, 'dispatch', 0, map('subagent.mode', 'background')),
            (2, 'launch', 1, map('subagent.launch.state', 'registered')),
            (3, 'start', 2, map('subagent.attempt', '1')),
            (7, 'child_done', 100, map('subagent.outcome', 'ok', 'subagent.result.size', '900')),
            (8, 'completion_received', 101, map('subagent.result.source', 'completion_push')),
            (9, 'completion_forwarded', 102, map('subagent.forwarded_to_main', 'true'))
        ], 1, {{events:UInt8}})) AS told
    {_FROM}
)
"""
_ACTIVITY = f"""
INSERT INTO activity (run_key, producer, turn, session_id, run_id, pulse, outputs, children, models, first_ns)
{_RUNS}
SELECT
    run_hash, session, '', session, run,
    arrayReduce('groupBitmapState', arrayMap(told -> toUInt64(intDiv(t0, 1000000) + told.1 * 1000) * 4 + told.2,
        [(20, 1), (60, 1), (70, 0)])),
    arrayReduce('groupBitmapState', [bitOr(bitShiftLeft(toUInt64(intDiv(t0 + 70000000000, 62500000)), 28), 400)]),
    arrayReduce('groupUniqArrayState', CAST([], 'Array(String)')),
    arrayReduce('groupUniqArrayState', CAST([], 'Array(String)')),
    t0 + 20000000000
{_FROM}
"""
_CALLS = f"""
INSERT INTO call (run_key, event, key, producer, pending, keyed, began, succeeded, failed, tool, call, stream)
{_RUNS}
SELECT
    run_hash, 'tool_call', concat('call:', run, told.2), session, 0, 1, t0 + told.1 * 1000000000 AS at, at, 0, 'Read',
    concat(run, told.2), -1
FROM (SELECT number, arrayJoin([(20, '-a'), (60, '-b')]) AS told {_FROM})
"""
_PRODUCERS = """
INSERT INTO producer (producer, block, lag_ns, records, numbers, moments, highest, last_ns)
WITH arrayMap(n -> toUInt64(n + 1), range({per_session:UInt64} * 9)) AS numbered, {t0:Int64} AS t0
SELECT
    concat({prefix:String}, 's', toString(number)), block, 0,
    arrayReduce('uniqUpToState(3)', ['a', 'b', 'c']),
    arrayFold((bits, n) -> bitOr(bits, bitShiftLeft(toUInt64(1), n % 64)), of_block, toUInt64(0)),
    arrayReduce('minMapState', [of_block], [arrayMap(n -> t0, of_block)]),
    arrayMax(of_block), t0 + 102000000000
FROM
(
    SELECT number, arrayJoin([0, 1]) AS block, arrayFilter(n -> intDiv(n, 64) = block, numbered) AS of_block
    FROM numbers_mt(intDiv({first:UInt64}, {per_session:UInt64}), intDiv({count:UInt64}, {per_session:UInt64}))
)
"""
_VERDICTS = f"""
INSERT INTO verdict (session_id, run_id, judged_at, status, owner_id, agent, service, mode, dispatched_at, since, document, version)
{_RUNS}
SELECT
    session, run, fromUnixTimestamp64Nano(t0), 'completed', '', 'worker', 'bench', 'background', fromUnixTimestamp64Nano(t0),
    fromUnixTimestamp64Nano(t0), repeat('x', 1500), 1
{_FROM}
"""
_ALL, _UNFINISHED = 6, 3


def add_closed(store: Store, prefix: str, count: int, t0_ns: int, *, first: int = 0) -> None:
    """Add runs `<prefix><n>`, n from `first` on, that were delivered at `t0_ns` + 102 s, with their verdicts; ten to a
    session `<prefix>s<n>`."""
    statements = (_EVIDENCE, _ACTIVITY, _CALLS, _PRODUCERS, _VERDICTS)
    _add(store, prefix, first, count, t0_ns, _ALL, statements)


def add_open(store: Store, prefix: str, count: int, t0_ns: int) -> None:
    """Add runs that were dispatched at `t0_ns` and are at work since."""
    _add(store, prefix, 0, count, t0_ns, _UNFINISHED, (_EVIDENCE, _ACTIVITY, _CALLS, _PRODUCERS))


def _add(
    store: Store, prefix: str, first: int, count: int, t0_ns: int, events: int, statements: tuple[str, ...]
) -> None:
    asked = {"prefix": prefix, "t0": t0_ns, "per_session": PER_SESSION, "events": events}
    for start in range(first, first + count, _CHUNK):
        for statement in statements:
            store.command(statement, {**asked, "first": start, "count": min(_CHUNK, first + count - start)})
