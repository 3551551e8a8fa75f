-- The rare events, each once: a record is the same record by its identity (producer and number, else span id), and
-- the first arrival of it stays. Beside them what the judgement reads one by one: records that name an alias, and
-- records without a producer that come from the future, since each counts as of its own arrival. Keys are hashes of
-- session, and of session and run: a thousand of them are found faster than a thousand texts, and small granules keep
-- what lies beside them unread.
CREATE TABLE IF NOT EXISTS evidence
(
    session_key UInt64,
    run_key UInt64,
    session_id String CODEC(ZSTD(1)),
    event LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    identity String CODEC(ZSTD(1)),
    phase LowCardinality(String),
    event_ns Int64 CODEC(ZSTD(1)),
    start_ns Int64 CODEC(ZSTD(1)),
    received_ns Int64 CODEC(ZSTD(1)),
    producer String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    parent_span_id String CODEC(ZSTD(1)),
    foreign Bool,
    owner String CODEC(ZSTD(1)),
    service LowCardinality(String),
    agent LowCardinality(String),
    parent String CODEC(ZSTD(1)),
    child String CODEC(ZSTD(1)),
    aliases Array(String) CODEC(ZSTD(1)),
    tokens UInt64 CODEC(ZSTD(1)),
    attributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    first_arrival UInt64 DEFAULT 9223372036854775807 - received_ns CODEC(ZSTD(1)),
    written DateTime DEFAULT now() CODEC(ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.001) GRANULARITY 4
)
ENGINE = ReplacingMergeTree(first_arrival)
ORDER BY (session_key, event, run_key, identity)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 256
