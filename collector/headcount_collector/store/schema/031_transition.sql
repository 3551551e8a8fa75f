-- What was believed when: one row for each change of a verdict, never updated. `believed_at` is the collector's clock,
-- `happened_at` the moment by event time from which the new verdict holds.
CREATE TABLE IF NOT EXISTS transition
(
    believed_at DateTime64(9),
    happened_at DateTime64(9),
    session_id String,
    run_id String,
    owner_id String,
    agent LowCardinality(String),
    service LowCardinality(String),
    from_status LowCardinality(String),
    to_status LowCardinality(String),
    failure_class LowCardinality(String),
    leaning LowCardinality(String),
    severity LowCardinality(String),
    rule LowCardinality(String),
    late Bool,
    reason String
)
ENGINE = MergeTree
PARTITION BY toDate(believed_at)
ORDER BY (session_id, run_id, believed_at)
TTL toDateTime(believed_at) + toIntervalDay($retention_days)
SETTINGS ttl_only_drop_parts = 1
