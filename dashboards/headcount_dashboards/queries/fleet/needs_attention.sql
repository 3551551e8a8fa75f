-- The documents are read for the rows shown only: they are the heavy column.
SELECT
    status,
    failure_class AS class,
    severity,
    dateDiff('second', ifNull(parseDateTime64BestEffortOrNull(JSONExtractString(document, 'abnormal_since'), 3, 'UTC'), since), now64(3)) AS age,
    run_id AS run,
    agent,
    if(owner_id = '', 'root', owner_id) AS owner,
    JSONExtractString(document, 'evidence', 1) AS why,
    if(last_progress_at > toDateTime64(0, 9), dateDiff('second', last_progress_at, now64(3)), NULL) AS "last progress",
    JSONExtractString(document, 'result_location') AS result,
    session_id AS session
FROM verdict FINAL
WHERE is_abnormal
    {{ of_kind }}
ORDER BY indexOf(['done_but_not_forwarded', 'suspect_delivery_failure', 'blocked'], status), since, run_id
LIMIT 200
