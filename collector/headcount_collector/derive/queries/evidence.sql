-- The rare events under these names.
SELECT
    session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, tokens, attributes
FROM evidence
WHERE session_id IN {sessions:Array(String)} AND run_id IN {runs:Array(String)}
    AND concat(session_id, '\x1f', run_id) IN {names:Array(String)}
