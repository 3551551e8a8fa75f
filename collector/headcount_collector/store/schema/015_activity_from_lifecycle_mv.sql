CREATE MATERIALIZED VIEW IF NOT EXISTS activity_from_lifecycle_mv TO activity AS
WITH toUInt64(intDiv(greatest(event_ns, 0), 1000000)) AS moment_ms
SELECT
    session_id, run_id, producer, turn,
    groupBitmapState(moment_ms) AS moments,
    groupBitmapStateIf(moment_ms, event = 'tool_call' AND phase != 'pending' AND error = '') AS tools,
    groupBitmapStateIf(moment_ms, event = 'first_token') AS first_tokens,
    maxMapState(if(event = 'output', [moment_ms], []), if(event = 'output', [tokens], [])) AS outputs,
    minMapState(if(child != '', [child], []), if(child != '', [event_ns], [])) AS children,
    groupUniqArrayStateIf(toString(model), model != '') AS models
FROM lifecycle
WHERE event IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity')
GROUP BY session_id, run_id, producer, turn
