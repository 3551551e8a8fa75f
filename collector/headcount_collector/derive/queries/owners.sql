-- What owners did in these sessions, and which child sessions are gone: events that concern more than one run.
SELECT
    session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, tokens, attributes
FROM evidence
WHERE session_key IN {session_keys:Array(UInt64)}
    AND event IN ('owner_turn', 'owner_final', 'owner_gone', 'child_gone', 'completion_consumed')
