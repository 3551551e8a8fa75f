-- Seconds since the last progress, or the dispatch where there was none, with the same labels as the rule's own query.
SELECT
    session_id AS session,
    run_id AS run,
    if(last_owner = '', 'root', last_owner) AS owner,
    last_agent AS agent,
    last_service AS service,
    last_severity AS severity,
    toFloat64(greatest(dateDiff('second', greatest(dispatched_at, last_progress_at), now64(9)), 0)) AS silent
FROM
(
    SELECT
        session_id, run_id,
        argMax(toString(failure_class), believed_at) AS class,
        argMax(toString(leaning), believed_at) AS leans,
        argMax(toString(severity), believed_at) AS last_severity,
        argMax(owner_id, believed_at) AS last_owner,
        argMax(toString(agent), believed_at) AS last_agent,
        argMax(toString(service), believed_at) AS last_service,
        argMax(happened_at, believed_at) AS happened
    FROM transition
    WHERE failure_class != ''
    GROUP BY session_id, run_id
    HAVING class = '{failure_class}' AND leans != 'uninstrumented' AND last_severity IN ('warn', 'page')
) AS wrong
INNER JOIN (SELECT session_id, run_id, dispatched_at, last_progress_at FROM verdict FINAL WHERE is_open) AS latest
    USING (session_id, run_id)
ORDER BY happened DESC, session, run
LIMIT 500
