SELECT
    believed_at AS believed,
    happened_at AS happened,
    if(from_status = '', 'unknown', toString(from_status)) AS before,
    to_status AS status,
    failure_class AS class,
    severity,
    reason,
    if(late, 'yes', '') AS "told late"
FROM transition
WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
ORDER BY believed_at
LIMIT 1000
