-- Every span that carries the run, whatever trace it is in: a background child has a trace of its own. An id counts
-- within its session. spans of others that say no session are taken by the run alone.
WITH bounds AS
(
    SELECT
        toDateTime(greatest(min(happened_at), toDateTime64(86400, 9))) - toIntervalDay(1) AS begin,
        toDateTime(max(believed_at)) + toIntervalDay(1) AS end
    FROM transition
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
),
spans AS
(
    SELECT *
    FROM otel_traces
    WHERE Timestamp >= (SELECT begin FROM bounds)
        AND Timestamp <= (SELECT end FROM bounds)
        AND SpanAttributes['subagent.run.id'] = ${run:singlequote}
        AND SpanAttributes['session.id'] IN ('', ${session:singlequote})
    ORDER BY Timestamp
    LIMIT 2000
)
SELECT
    ${run:singlequote} AS traceID,
    SpanId AS spanID,
    if(ParentSpanId IN (SELECT SpanId FROM spans), ParentSpanId, '') AS parentSpanID,
    toString(ServiceName) AS serviceName,
    toString(SpanName) AS operationName,
    Timestamp AS startTime,
    Duration / 1000000 AS duration,
    arrayMap(key -> map('key', toString(key), 'value', SpanAttributes[key]), mapKeys(SpanAttributes)) AS tags,
    arrayMap(key -> map('key', toString(key), 'value', ResourceAttributes[key]), mapKeys(ResourceAttributes)) AS serviceTags,
    if(StatusCode IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) AS statusCode
FROM spans
ORDER BY startTime
