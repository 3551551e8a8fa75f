SELECT toString(status) AS status
FROM verdict FINAL
WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
