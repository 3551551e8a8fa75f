-- The latest state of each incident. `document` is what a restarting collector takes up, and what API and page show.
CREATE TABLE IF NOT EXISTS incident
(
    incident_id String,
    session_id String,
    owner_id String,
    kind LowCardinality(String),
    is_open Bool,
    level LowCardinality(String),
    severity LowCardinality(String),
    fleet_id String,
    opened_at DateTime64(9),
    closed_at DateTime64(9),
    runs Array(String),
    unmet UInt32,
    document String CODEC(ZSTD(1)),
    version UInt64,
    INDEX is_open_set is_open TYPE set(2) GRANULARITY 1,
    INDEX runs_bloom runs TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY incident_id
