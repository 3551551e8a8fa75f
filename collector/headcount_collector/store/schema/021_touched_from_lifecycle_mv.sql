CREATE MATERIALIZED VIEW IF NOT EXISTS touched_from_lifecycle_mv TO touched AS
SELECT DISTINCT
    received_ns, session_id, run_id,
    if(run_id = '', owner, '') AS owner,
    if(run_id = '', child, '') AS child,
    event = 'child_gone' AS gone
FROM lifecycle
