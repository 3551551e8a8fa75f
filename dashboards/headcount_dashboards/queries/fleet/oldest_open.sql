SELECT
    dateDiff('second', dispatched_at, now64(3)) AS age,
    run_id AS run,
    status,
    agent,
    if(owner_id = '', 'root', owner_id) AS owner,
    if(last_progress_at > toDateTime64(0, 9), dateDiff('second', last_progress_at, now64(3)), NULL) AS "last progress",
    session_id AS session
FROM verdict FINAL
WHERE is_open AND dispatched_at > toDateTime64(0, 9)
    {{ of_kind }}
ORDER BY dispatched_at, run_id
LIMIT 20
