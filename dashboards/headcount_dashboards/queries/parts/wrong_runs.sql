-- Runs by the class that was last said of them, listed until their obligation is met, also while they move again: what
-- woke up has delivered nothing yet.
SELECT
    session_id,
    run_id,
    argMax(toString(failure_class), believed_at) AS class,
    argMax(toString(leaning), believed_at) AS leans,
    argMax(toString(severity), believed_at) AS severity_now,
    argMax(owner_id, believed_at) AS owner_id,
    argMax(toString(agent), believed_at) AS agent,
    argMax(toString(service), believed_at) AS service,
    argMax(happened_at, believed_at) AS since
FROM transition
WHERE failure_class != ''
    AND (session_id, run_id) IN (SELECT session_id, run_id FROM verdict FINAL WHERE is_open)
GROUP BY session_id, run_id
HAVING class = '{failure_class}' AND leans != 'uninstrumented' AND severity_now IN ('warn', 'page')
