-- Every decision about an incident with its reason: one row each, never updated.
CREATE TABLE IF NOT EXISTS incident_decision
(
    at DateTime64(9),
    incident_id String,
    decision LowCardinality(String),
    reason String,
    runs Array(String)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (incident_id, at)
TTL toDateTime(at) + toIntervalDay($retention_days)
SETTINGS ttl_only_drop_parts = 1
