-- The latest verdict of each run. `document` is what API, CLI, page and alerts show; the columns are for filters and order.
CREATE TABLE IF NOT EXISTS verdict
(
    session_id String,
    run_id String,
    judged_at DateTime64(9),
    status LowCardinality(String),
    failure_class LowCardinality(String),
    leaning LowCardinality(String),
    severity LowCardinality(String),
    outcome LowCardinality(String),
    owner_id String,
    parent_run_id String,
    agent LowCardinality(String),
    service LowCardinality(String),
    mode LowCardinality(String),
    names Array(String),
    is_open Bool,
    is_watched Bool,
    is_abnormal Bool,
    remaining Bool,
    undelivered Bool,
    dispatched_at DateTime64(9),
    since DateTime64(9),
    last_progress_at DateTime64(9),
    ended_at DateTime64(9),
    delivered_at DateTime64(9),
    next_due DateTime64(9),
    document String CODEC(ZSTD(1)),
    version UInt64,
    INDEX run_id_bloom run_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX names_bloom names TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX is_open_set is_open TYPE set(2) GRANULARITY 1,
    INDEX is_watched_set is_watched TYPE set(2) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (session_id, run_id)
