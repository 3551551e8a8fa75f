CREATE MATERIALIZED VIEW IF NOT EXISTS signal_from_verdict_mv TO signal AS
SELECT
    session_id,
    run_id,
    tupleElement(opened, 'name') AS name,
    parseDateTime64BestEffortOrZero(tupleElement(opened, 'since'), 3, 'UTC') AS since,
    tupleElement(opened, 'severity') AS severity,
    tupleElement(opened, 'evidence') AS evidence,
    owner_id,
    agent,
    service,
    judged_at,
    version
FROM verdict
ARRAY JOIN JSONExtract(
    document, 'signals', 'Array(Tuple(name String, since String, severity String, evidence String))') AS opened
