-- The rare events under these names.
SELECT
    session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, tokens, attributes
FROM evidence
WHERE session_key IN arrayMap(session -> cityHash64(session), {sessions:Array(String)})
    AND run_key IN arrayMap((session, run) -> cityHash64(session, run), {name_sessions:Array(String)}, {name_runs:Array(String)})
