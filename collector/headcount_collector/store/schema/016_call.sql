-- Each tool call and each model request once, begun and ended: what is in flight is a set difference and needs a row
-- a call. The two spans of a pair meet by call id, else since the pending one names the ended one as its parent.
CREATE TABLE IF NOT EXISTS call
(
    run_key UInt64,
    event LowCardinality(String),
    key String,
    producer SimpleAggregateFunction(max, String),
    pending SimpleAggregateFunction(max, UInt8),
    keyed SimpleAggregateFunction(max, UInt8),
    began SimpleAggregateFunction(min, Int64),
    succeeded SimpleAggregateFunction(max, Int64),
    failed SimpleAggregateFunction(max, Int64),
    tool SimpleAggregateFunction(max, String),
    call SimpleAggregateFunction(max, String),
    error SimpleAggregateFunction(max, String),
    turn SimpleAggregateFunction(max, String),
    trigger SimpleAggregateFunction(max, String),
    stream SimpleAggregateFunction(max, Int8),
    tokens SimpleAggregateFunction(max, UInt64),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now()
)
ENGINE = AggregatingMergeTree
PRIMARY KEY run_key
ORDER BY (run_key, event, key)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 16384
