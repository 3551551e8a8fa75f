SELECT time, status
FROM
(
    SELECT believed_at AS time, toString(to_status) AS status
    FROM transition
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
ORDER BY time
