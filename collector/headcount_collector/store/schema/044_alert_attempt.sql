-- What became of each message: one row when sending begins, one when it ended. `outcome` is sending, sent, failed,
-- dead or superseded; `reference` is what the channel calls the message, by which it can be changed.
CREATE TABLE IF NOT EXISTS alert_attempt
(
    message_id String,
    incident_id String,
    channel String,
    at DateTime64(9),
    outcome LowCardinality(String),
    error String,
    retry_at DateTime64(9),
    reference String
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (message_id, at)
TTL toDateTime(at) + toIntervalDay($retention_days)
SETTINGS ttl_only_drop_parts = 1
