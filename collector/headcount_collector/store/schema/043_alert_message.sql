-- The outbox: one row for each message that was decided, for one channel. `message_id` is the idempotency key.
CREATE TABLE IF NOT EXISTS alert_message
(
    message_id String,
    incident_id String,
    number UInt32,
    step LowCardinality(String),
    channel String,
    decided_at DateTime64(9),
    document String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(decided_at)
ORDER BY message_id
TTL toDateTime(decided_at) + toIntervalDay($retention_days)
SETTINGS ttl_only_drop_parts = 1
