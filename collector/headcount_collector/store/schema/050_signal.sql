-- When each signal of a run opened. A verdict holds only what is open at its moment; this keeps what was, so that signals
-- can be counted over time. A row with the version of its run's latest verdict is a signal that holds now.
CREATE TABLE IF NOT EXISTS signal
(
    session_id String,
    run_id String,
    name LowCardinality(String),
    since DateTime64(3),
    severity LowCardinality(String),
    evidence String CODEC(ZSTD(1)),
    owner_id String,
    agent LowCardinality(String),
    service LowCardinality(String),
    judged_at DateTime64(9),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (session_id, run_id, name, since)
TTL toDateTime(judged_at) + toIntervalDay($retention_days)
