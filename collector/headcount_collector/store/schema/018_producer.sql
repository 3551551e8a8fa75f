-- What is known of each process that speaks, in blocks of 64 of its numbers: how late its records arrive at best
-- (its clock), which numbers came and when (holes), what it announced.
CREATE TABLE IF NOT EXISTS producer
(
    producer String,
    block UInt64,
    lag_ns SimpleAggregateFunction(min, Int64),
    records AggregateFunction(uniqUpTo(3), String),
    numbers SimpleAggregateFunction(groupBitOr, UInt64),
    moments AggregateFunction(minMap, Array(UInt64), Array(Int64)),
    highest SimpleAggregateFunction(max, UInt64),
    last_ns SimpleAggregateFunction(max, Int64),
    keepalive_ms SimpleAggregateFunction(max, UInt64),
    export_interval_ms SimpleAggregateFunction(max, UInt64),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now()
)
ENGINE = AggregatingMergeTree
PRIMARY KEY producer
ORDER BY (producer, block)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384
