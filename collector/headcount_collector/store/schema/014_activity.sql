-- The frequent events of a run as states that no order and no repetition changes: moments in milliseconds as bitmaps
-- (the whole course, since "was it ever silent" cannot be told from a last value), output as moment → tokens.
CREATE TABLE IF NOT EXISTS activity
(
    session_id String CODEC(ZSTD(1)),
    run_id String CODEC(ZSTD(1)),
    producer String CODEC(ZSTD(1)),
    turn String CODEC(ZSTD(1)),
    moments AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    tools AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    first_tokens AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    outputs AggregateFunction(maxMap, Array(UInt64), Array(UInt64)) CODEC(ZSTD(1)),
    children AggregateFunction(minMap, Array(String), Array(Int64)) CODEC(ZSTD(1)),
    models AggregateFunction(groupUniqArray, String) CODEC(ZSTD(1)),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now() CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (session_id, run_id, producer, turn)
TTL written + toIntervalDay($retention_days)
