SELECT run_id
FROM verdict FINAL
WHERE session_id = ${session:singlequote}
ORDER BY is_abnormal DESC, is_open DESC, since DESC, run_id
LIMIT 500
