-- Seconds since the last progress, or the dispatch where there was none, with the same labels as the rule's own query.
SELECT
    session_id AS session,
    run_id AS run,
    if(latest.owner_id = '', 'root', latest.owner_id) AS owner,
    toString(latest.agent) AS agent,
    toString(latest.service) AS service,
    severity,
    toFloat64(greatest(dateDiff('second', greatest(dispatched_at, last_progress_at), now64(9)), 0)) AS silent
FROM
(
    SELECT
        session_id, run_id,
        argMax(toString(failure_class), believed_at) AS class,
        argMax(toString(leaning), believed_at) AS leans,
        argMax(toString(transition.severity), believed_at) AS severity,
        argMax(happened_at, believed_at) AS happened
    FROM transition
    WHERE failure_class != ''
        AND (session_id, run_id) IN (SELECT session_id, run_id FROM verdict FINAL WHERE is_open)
    GROUP BY session_id, run_id
    HAVING class = '{failure_class}' AND leans != 'uninstrumented' AND severity IN ('warn', 'page')
    ORDER BY happened DESC
    LIMIT 500
) AS wrong
INNER JOIN
(
    SELECT session_id, run_id, owner_id, agent, service, dispatched_at, last_progress_at
    FROM verdict FINAL
    WHERE is_open
) AS latest USING (session_id, run_id)
ORDER BY session, run
