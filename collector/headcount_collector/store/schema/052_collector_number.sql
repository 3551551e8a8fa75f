-- The collector's own numbers over time, for dashboards: what /metrics says, taken every few seconds. Counters count from
-- the start of the process.
CREATE TABLE IF NOT EXISTS collector_number
(
    at DateTime64(3),
    name LowCardinality(String),
    label LowCardinality(String),
    value Float64
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (name, label, at)
TTL toDateTime(at) + toIntervalDay($retention_days)
SETTINGS ttl_only_drop_parts = 1
