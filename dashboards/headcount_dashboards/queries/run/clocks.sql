SELECT
    if(dispatched_at > toDateTime64(0, 9), dateDiff('second', dispatched_at, now64(3)), NULL) AS dispatched,
    dateDiff('second', parseDateTime64BestEffortOrNull(JSONExtractString(document, 'clocks', 'last_progress_at'), 3, 'UTC'), now64(3)) AS "last progress",
    dateDiff('second', parseDateTime64BestEffortOrNull(JSONExtractString(document, 'clocks', 'last_activity_at'), 3, 'UTC'), now64(3)) AS "last activity",
    dateDiff('second', parseDateTime64BestEffortOrNull(JSONExtractString(document, 'clocks', 'last_traffic_at'), 3, 'UTC'), now64(3)) AS "last traffic"
FROM verdict FINAL
WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
