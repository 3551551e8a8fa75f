-- Who judges: collectors that share a store bid for it and the holder renews. Rows are only added; the latest of a term
-- says how it stands. Times are the store's, so that the collectors' clocks do not matter.
CREATE TABLE IF NOT EXISTS lease
(
    resource LowCardinality(String),
    term String,
    holder String,
    state LowCardinality(String),
    since_ns Int64,
    written_ns Int64
)
ENGINE = MergeTree
ORDER BY (resource, written_ns)
TTL toDateTime(intDiv(written_ns, 1000000000)) + toIntervalDay(1)
