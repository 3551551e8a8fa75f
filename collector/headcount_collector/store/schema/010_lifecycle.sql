-- Every record that says something of a run or an owner, with its meaning in typed columns. It keeps nothing: the
-- tables of facts are views on it, so that the attribute maps are read once a span and not once a table.
CREATE TABLE IF NOT EXISTS lifecycle
(
    session_id String,
    run_id String,
    session_key UInt64,
    run_key UInt64,
    event LowCardinality(String),
    phase LowCardinality(String),
    event_ns Int64,
    start_ns Int64,
    received_ns Int64,
    producer String,
    seq UInt64,
    identity String,
    span_id String,
    parent_span_id String,
    foreign Bool,
    owner String,
    service LowCardinality(String),
    agent LowCardinality(String),
    parent String,
    child String,
    aliases Array(String),
    turn String,
    trigger LowCardinality(String),
    stream Int8,
    tool LowCardinality(String),
    call String,
    error String,
    model LowCardinality(String),
    tokens UInt64,
    keepalive_ms UInt64,
    export_interval_ms UInt64,
    attributes Map(LowCardinality(String), String)
)
ENGINE = Null
