-- One row for each tick: when, how long, how late, and how much was judged.
CREATE TABLE IF NOT EXISTS evaluation
(
    at DateTime64(9),
    took_ns UInt64,
    late_ns UInt64,
    changed UInt32,
    due UInt32,
    judged UInt32,
    transitions UInt32,
    open_runs UInt32,
    observer LowCardinality(String),
    read_until DateTime64(9)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY at
TTL toDateTime(at) + toIntervalDay($retention_days)
