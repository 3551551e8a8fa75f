-- Waiting: declared waits, overlaps once. Working: a call in flight, or progress within the last minute. Delivery: from the
-- end of the child to its owner. Idle: the rest. The ten thousand runs delivered last in the time.
WITH
runs AS
(
    SELECT
        halfMD5(session_id) AS session_key,
        halfMD5(concat(session_id, char(0), run_id)) AS run_key,
        session_id, agent, delivered_at AS settled_at,
        toUnixTimestamp64Nano(dispatched_at) AS dispatched_ns,
        toUnixTimestamp64Nano(delivered_at) AS settled_ns,
        if(ended_at > dispatched_at AND ended_at < delivered_at, toUnixTimestamp64Nano(ended_at), settled_ns) AS ended_ns
    FROM verdict FINAL
    WHERE $__timeFilter(delivered_at)
        AND dispatched_at > toDateTime64(0, 9)
        AND dispatched_at < delivered_at
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
    ORDER BY delivered_at DESC
    LIMIT 10000
),
intervals AS
(
    SELECT run_key, kind, greatest(begin, runs.dispatched_ns) AS began, least(if(end = 0, runs.ended_ns, end), runs.ended_ns) AS ended
    FROM
    (
        SELECT run_key, 'wait' AS kind, event_ns AS begin, next_ns AS end
        FROM
        (
            SELECT
                run_key, phase, event_ns,
                leadInFrame(event_ns, 1, toInt64(0)) OVER (
                    PARTITION BY run_key, waits_for ORDER BY event_ns ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS next_ns
            FROM
            (
                SELECT run_key, phase, event_ns, concat(attributes['subagent.wait.id'], attributes['subagent.wait.reason']) AS waits_for
                FROM evidence FINAL
                WHERE event = 'wait'
                    AND session_key IN (SELECT session_key FROM runs)
                    AND run_key IN (SELECT run_key FROM runs)
            )
        )
        WHERE phase = 'pending'
        UNION ALL
        SELECT run_key, 'work' AS kind, min(call.began) AS begin, greatest(max(succeeded), max(failed)) AS end
        FROM call
        WHERE run_key IN (SELECT run_key FROM runs)
        GROUP BY run_key, event, key
        UNION ALL
        SELECT
            run_key, 'work' AS kind,
            arrayJoin(arrayMap(
                beat -> toInt64(intDiv(beat, 4)) * 1000000,
                arrayFilter(beat -> bitAnd(beat, 3) > 0, bitmapToArray(groupBitmapMergeState(pulse))))) AS begin,
            begin + 60000000000 AS end
        FROM activity
        WHERE run_key IN (SELECT run_key FROM runs)
        GROUP BY run_key
        UNION ALL
        SELECT
            run_key, 'work' AS kind,
            arrayJoin(arrayMap(
                output -> toInt64(bitShiftRight(output, 28)) * 62500000, bitmapToArray(groupBitmapMergeState(outputs)))) AS begin,
            begin + 60000000000 AS end
        FROM activity
        WHERE run_key IN (SELECT run_key FROM runs)
        GROUP BY run_key
    ) AS raw
    INNER JOIN runs USING run_key
    WHERE began < ended
),
accounts AS
(
    SELECT
        runs.run_key AS run_key, runs.session_key AS session_key, session_id, agent, settled_at, dispatched_ns, settled_ns,
        (runs.settled_ns - runs.dispatched_ns) / 1e9 AS total,
        (runs.settled_ns - runs.ended_ns) / 1e9 AS delivery,
        ifNull(covered.waiting, 0) AS waiting,
        greatest(ifNull(covered.covered, 0) - waiting, 0) AS working,
        greatest(total - delivery - waiting - working, 0) AS idle
    FROM runs
    LEFT JOIN
    (
        SELECT
            run_key,
            intervalLengthSum(began, ended) / 1e9 AS covered,
            intervalLengthSumIf(began, ended, kind = 'wait') / 1e9 AS waiting
        FROM intervals
        GROUP BY run_key
    ) AS covered USING run_key
)
SELECT
    session_id AS session,
    count() AS runs,
    (max(settled_ns) - min(dispatched_ns)) / 1e9 AS wall,
    sum(accounts.total) AS total,
    sum(accounts.working) AS working,
    sum(accounts.waiting) AS waiting,
    sum(accounts.idle) AS idle,
    sum(accounts.delivery) AS delivery,
    sum(accounts.working) + sum(accounts.waiting) AS net,
    (sum(accounts.idle) + sum(accounts.delivery)) / greatest(sum(accounts.total), 0.001) AS overhead
FROM accounts
GROUP BY session_id
ORDER BY max(settled_at) DESC, session
LIMIT 100
