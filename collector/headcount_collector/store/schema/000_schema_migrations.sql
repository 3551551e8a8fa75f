CREATE TABLE IF NOT EXISTS schema_migrations
(
    number UInt32,
    name String,
    applied_at DateTime64(3) DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY number;
