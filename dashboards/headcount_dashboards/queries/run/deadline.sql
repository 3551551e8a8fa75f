SELECT
    if(is_open,
        dateDiff('second', now64(3), parseDateTime64BestEffortOrNull(JSONExtractString(document, 'deadline'), 3, 'UTC')),
        NULL) AS "until the deadline"
FROM verdict FINAL
WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
