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
    model LowCardinality(String),
    total_s Float64,
    working_s Float64,
    waiting_s Float64,
    idle_s Float64,
    delivery_s Float64,
    document String CODEC(ZSTD(1)),
    version UInt64,
    -- Of the document, so that no list has to read it: 0 page, 1 warn, 2 info, 3 nothing, of class and open signals. Quotes
    -- within values are escaped in the document, so that no text of a sender can look like its keys.
    urgency UInt8 DEFAULT multiIf(
        position(document, '"severity":"page"') > 0, 0,
        position(document, '"severity":"warn"') > 0, 1,
        position(document, '"severity":"info"') > 0, 2,
        3),
    child_sessions Array(String) DEFAULT JSONExtract(document, 'child_sessions', 'Array(String)'),
    description String DEFAULT JSONExtractString(document, 'description') CODEC(ZSTD(1)),
    INDEX run_id_bloom run_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX names_bloom names TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX is_open_set is_open TYPE set(2) GRANULARITY 1,
    INDEX is_watched_set is_watched TYPE set(2) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (session_id, run_id)
