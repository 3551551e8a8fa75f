-- One row a run: the texts become the labels of an alert, the one number its value, the seconds since it went wrong.
-- A run is listed until its obligation is met, also while it moves again: what woke up has delivered nothing yet.
SELECT
    session_id AS session,
    run_id AS run,
    if(last_owner = '', 'root', last_owner) AS owner,
    last_agent AS agent,
    last_service AS service,
    last_severity AS severity,
    toFloat64(greatest(dateDiff('second', happened, now64(9)), 0)) AS age
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
        AND (session_id, run_id) IN (SELECT session_id, run_id FROM verdict FINAL WHERE is_open)
    GROUP BY session_id, run_id
    HAVING class = '{failure_class}' AND leans != 'uninstrumented' AND last_severity IN ('warn', 'page')
)
ORDER BY happened DESC, session, run
LIMIT 500
