-- `rare` is what makes a record one of the table `evidence`.
ALTER TABLE touched_from_lifecycle_mv MODIFY QUERY
SELECT DISTINCT
    received_ns, session_id, run_id,
    if(run_id = '', owner, '') AS owner,
    if(run_id = '', child, '') AS child,
    event = 'child_gone' AS gone,
    notEmpty(aliases)
        OR event IN ('dispatch', 'wait', 'child_gone', 'owner_turn', 'owner_final', 'owner_gone', 'completion_consumed')
        OR (lifecycle.child != '' AND event NOT IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity'))
    AS directory,
    event NOT IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity')
        OR notEmpty(aliases)
        OR (producer = '' AND event_ns > received_ns)
    AS rare
FROM lifecycle
