-- The rare events, each once: a record is the same record by its identity (producer and number, else span id), and
-- the first arrival of it stays. Beside them what the judgement reads one by one: records that name an alias, and
-- records without a producer that come from the future, since each counts as of its own arrival. Keys are hashes of
-- session, and of session and run. A thousand of them are found faster than a thousand texts; they lie far apart, so
-- granules and compressed blocks are small, lest most of what is read is thrown away.
CREATE TABLE IF NOT EXISTS evidence
(
    session_key UInt64,
    run_key UInt64,
    session_id String,
    event LowCardinality(String),
    run_id String,
    identity String,
    phase LowCardinality(String),
    event_ns Int64,
    start_ns Int64,
    received_ns Int64,
    producer String,
    span_id String,
    parent_span_id String,
    foreign Bool,
    owner String,
    service LowCardinality(String),
    agent LowCardinality(String),
    parent String,
    child String,
    aliases Array(String),
    tokens UInt64,
    attributes Map(LowCardinality(String), String),
    first_arrival UInt64 DEFAULT 9223372036854775807 - received_ns,
    written DateTime DEFAULT now(),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.001) GRANULARITY 8
)
ENGINE = ReplacingMergeTree(first_arrival)
PRIMARY KEY (session_key, run_key)
ORDER BY (session_key, run_key, event, identity)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 16384
