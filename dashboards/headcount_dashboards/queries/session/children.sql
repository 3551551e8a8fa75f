SELECT
    run_id AS run,
    status,
    failure_class AS class,
    severity,
    agent,
    mode,
    if(owner_id = '', 'root', owner_id) AS owner,
    if(dispatched_at > toDateTime64(0, 9), dispatched_at, NULL) AS dispatched,
    if(ended_at > toDateTime64(0, 9), dateDiff('millisecond', dispatched_at, ended_at) / 1000, NULL) AS took,
    if(delivered_at > toDateTime64(0, 9) AND ended_at > toDateTime64(0, 9), greatest(dateDiff('millisecond', ended_at, delivered_at), 0) / 1000, NULL) AS "delivered after",
    JSONExtractUInt(document, 'tool_calls') AS tools,
    JSONExtractUInt(document, 'output_tokens') AS tokens,
    JSONExtractString(document, 'result_location') AS result
FROM verdict FINAL
{{ of_owner }}
ORDER BY is_abnormal DESC, is_open DESC, dispatched_at DESC, run_id
LIMIT 500
