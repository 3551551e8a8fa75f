-- What is known of each process that speaks, in blocks of 1024 of its numbers: how late its records arrive at best
-- (its clock), which numbers came and when (holes), what it announced.
CREATE TABLE IF NOT EXISTS producer
(
    producer String CODEC(ZSTD(1)),
    block UInt64 CODEC(ZSTD(1)),
    lag_ns SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    records AggregateFunction(uniqUpTo(3), String) CODEC(ZSTD(1)),
    numbers AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    moments AggregateFunction(minMap, Array(UInt64), Array(Int64)) CODEC(ZSTD(1)),
    highest SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    last_ns SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    keepalive_ms SimpleAggregateFunction(max, UInt64),
    export_interval_ms SimpleAggregateFunction(max, UInt64),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now() CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (producer, block)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 128
