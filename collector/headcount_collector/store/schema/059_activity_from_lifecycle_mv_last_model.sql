ALTER TABLE activity_from_lifecycle_mv MODIFY QUERY
WITH
    toUInt64(greatest(event_ns, 0)) AS moment_ns,
    multiIf(event = 'tool_call' AND phase != 'pending' AND error = '', 1, event = 'first_token', 2, 0) AS what
SELECT
    run_key, producer, turn, any(session_id) AS session_id, any(run_id) AS run_id,
    groupBitmapState(intDiv(moment_ns, 1000000) * 4 + what) AS pulse,
    groupBitmapStateIf(
        bitOr(bitShiftLeft(intDiv(moment_ns, 62500000), 28), least(tokens, 268435455)), event = 'output'
    ) AS outputs,
    groupUniqArrayStateIf(child, child != '') AS children,
    groupUniqArrayStateIf(toString(model), model != '') AS models,
    min(event_ns) AS first_ns,
    max(if(model = '', '', concat(leftPad(toString(moment_ns), 20, '0'), ' ', model))) AS last_model
FROM lifecycle
WHERE event IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity')
GROUP BY run_key, producer, turn
