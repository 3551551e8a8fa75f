-- Silences by people, the latest state of each; `matchers` as they are written.
CREATE TABLE IF NOT EXISTS silence
(
    silence_id String,
    matchers Array(String),
    since DateTime64(9),
    until DateTime64(9),
    author String,
    reason String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY silence_id
