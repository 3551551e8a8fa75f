CREATE MATERIALIZED VIEW IF NOT EXISTS touched_from_lifecycle_mv TO touched AS
SELECT DISTINCT
    received_ns, session_id, run_id,
    if(run_id = '', owner, '') AS owner,
    if(run_id = '', child, '') AS child,
    event = 'child_gone' AS gone,
    notEmpty(aliases)
        OR event IN ('dispatch', 'wait', 'child_gone', 'owner_turn', 'owner_final', 'owner_gone', 'completion_consumed')
        OR (lifecycle.child != '' AND event NOT IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity'))
    AS directory
FROM lifecycle
