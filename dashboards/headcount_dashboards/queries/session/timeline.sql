-- One lane a run, the latest thirty.
SELECT believed_at AS time, run_id AS run, toString(to_status) AS status
FROM transition
{{ of_owner }}
    AND run_id IN (
        SELECT run_id FROM verdict FINAL WHERE session_id = ${session:singlequote} ORDER BY is_abnormal DESC, dispatched_at DESC LIMIT 30)
ORDER BY time, run
LIMIT 2000
