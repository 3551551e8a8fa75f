-- The frequent events of a run as states that no order and no repetition changes. `pulse` is the set of its moments,
-- each millisecond × 4 + what it was (1 a tool call that succeeded, 2 a first token, 0 anything else): the whole
-- course, since "was it ever silent" cannot be told from a last value. `outputs` is a set, too: the moment in
-- sixteenths of a second × 2^28 + the output tokens counted until then. Bitmaps, since states of maps cost ten
-- times as much to read.
CREATE TABLE IF NOT EXISTS activity
(
    run_key UInt64,
    producer String CODEC(ZSTD(1)),
    turn String CODEC(ZSTD(1)),
    session_id SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
    run_id SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
    pulse AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    outputs AggregateFunction(groupBitmap, UInt64) CODEC(ZSTD(1)),
    children AggregateFunction(groupUniqArray, String) CODEC(ZSTD(1)),
    models AggregateFunction(groupUniqArray, String) CODEC(ZSTD(1)),
    first_ns SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now() CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (run_key, producer, turn)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 128
