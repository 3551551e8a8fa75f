-- The frequent events of a run as states that no order and no repetition changes. `pulse` is the set of its moments,
-- each millisecond × 4 + what it was (1 a tool call that succeeded, 2 a first token, 0 anything else): the whole
-- course, since "was it ever silent" cannot be told from a last value. `outputs` is a set, too: the moment in
-- sixteenths of a second × 2^28 + the output tokens counted until then. Bitmaps, since states of maps cost ten
-- times as much to read.
CREATE TABLE IF NOT EXISTS activity
(
    run_key UInt64,
    producer String,
    turn String,
    session_id SimpleAggregateFunction(any, String),
    run_id SimpleAggregateFunction(any, String),
    pulse AggregateFunction(groupBitmap, UInt64),
    outputs AggregateFunction(groupBitmap, UInt64),
    children AggregateFunction(groupUniqArray, String),
    models AggregateFunction(groupUniqArray, String),
    first_ns SimpleAggregateFunction(min, Int64),
    written SimpleAggregateFunction(max, DateTime) DEFAULT now()
)
ENGINE = AggregatingMergeTree
PRIMARY KEY run_key
ORDER BY (run_key, producer, turn)
TTL written + toIntervalDay($retention_days)
SETTINGS index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384
