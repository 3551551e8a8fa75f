-- The attribute's former name counts, too.
CREATE MATERIALIZED VIEW IF NOT EXISTS session_environment_mv TO session_environment AS
SELECT session_id, argMax(named, Timestamp) AS environment, max(Timestamp) AS seen_at
FROM
(
    SELECT
        SpanAttributes['session.id'] AS session_id,
        if(
            ResourceAttributes['deployment.environment.name'] != '',
            ResourceAttributes['deployment.environment.name'],
            ResourceAttributes['deployment.environment']) AS named,
        Timestamp
    FROM otel_traces
    WHERE session_id != '' AND named != ''
)
GROUP BY session_id
