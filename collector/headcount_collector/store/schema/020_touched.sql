-- Which runs and owners each commit spoke of: what the tick asks to learn what to judge again.
-- `directory`: a record told who is who (see derive/queries/directory.sql).
CREATE TABLE IF NOT EXISTS touched
(
    received_ns Int64 CODEC(Delta, ZSTD(1)),
    session_id String CODEC(ZSTD(1)),
    run_id String CODEC(ZSTD(1)),
    owner String CODEC(ZSTD(1)),
    child String CODEC(ZSTD(1)),
    gone Bool,
    directory Bool,
    written DateTime DEFAULT now() CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY received_ns
TTL written + toIntervalDay(1)
