-- The environment (`deployment.environment.name` of the resource) that the spans of a session name last: dashboards and
-- alert rules choose by it. A session without a row named none.
CREATE TABLE IF NOT EXISTS session_environment
(
    session_id String,
    environment LowCardinality(String),
    seen_at DateTime64(9)
)
ENGINE = ReplacingMergeTree(seen_at)
ORDER BY session_id
TTL toDateTime(seen_at) + toIntervalDay($retention_days)
