CREATE MATERIALIZED VIEW IF NOT EXISTS call_from_lifecycle_mv TO call AS
SELECT
    run_key, event,
    multiIf(
        call != '' AND event = 'tool_call', concat('call:', call),
        phase = 'pending' AND parent_span_id != '', parent_span_id,
        phase = 'pending', concat('open:', identity),
        span_id != '', span_id,
        identity
    ) AS key,
    producer,
    phase = 'pending' AS pending,
    (call != '' AND event = 'tool_call') OR (phase = 'pending' AND parent_span_id != '') AS keyed,
    if(phase = 'pending', event_ns, least(start_ns, event_ns)) AS began,
    if(phase = 'pending' OR error != '', 0, greatest(event_ns, 1)) AS succeeded,
    if(phase = 'pending' OR error = '', 0, greatest(event_ns, 1)) AS failed,
    tool, call, error, turn, trigger, stream, tokens
FROM lifecycle
WHERE event IN ('tool_call', 'model_request')
