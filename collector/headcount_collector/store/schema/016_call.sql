-- Each tool call and each model request once, begun and ended: what is in flight is a set difference and needs a row
-- a call. The two spans of a pair meet by call id, else since the pending one names the ended one as its parent.
CREATE TABLE IF NOT EXISTS call
(
    run_key UInt64,
    event LowCardinality(String),
    key String CODEC(ZSTD(1)),
    producer SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    pending SimpleAggregateFunction(max, UInt8),
    keyed SimpleAggregateFunction(max, UInt8),
    began SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    succeeded SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    failed SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    tool SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    call SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    error SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    turn SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    trigger SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    stream SimpleAggregateFunction(max, Int8),
    tokens SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now() CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (run_key, event, key)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 256
