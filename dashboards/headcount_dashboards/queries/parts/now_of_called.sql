-- What became of the runs that came into a class in the time.
SELECT session_id, run_id, model, status, outcome
FROM verdict FINAL
WHERE session_id IN (
    SELECT session_id FROM transition WHERE $__timeFilter(believed_at) AND failure_class != '')
