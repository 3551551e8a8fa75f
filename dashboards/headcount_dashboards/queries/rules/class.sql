-- One row a run: the texts become the labels of an alert, the one number its value, the seconds since it went wrong.
-- A run is listed until its obligation is met, also while it moves again: what woke up has delivered nothing yet.
SELECT
    session_id AS session,
    run_id AS run,
    if(latest.owner_id = '', 'root', latest.owner_id) AS owner,
    toString(latest.agent) AS agent,
    toString(latest.service) AS service,
    severity,
    toFloat64(greatest(dateDiff('second', happened, now64(9)), 0)) AS age
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
INNER JOIN (SELECT session_id, run_id, owner_id, agent, service FROM verdict FINAL WHERE is_open) AS latest
    USING (session_id, run_id)
ORDER BY session, run
