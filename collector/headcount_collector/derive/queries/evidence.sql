-- The rare events under these names.
SELECT
    session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, tokens, attributes
FROM evidence
WHERE session_key IN {session_keys:Array(UInt64)}
    AND run_key IN {run_keys:Array(UInt64)}
