-- Who is who in these sessions: dispatches, all that names an alias, a child session or a waker, what owners did, and
-- which child sessions are gone.
SELECT
    session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, tokens, attributes, aliases
FROM evidence
WHERE session_key IN {session_keys:Array(UInt64)}
    AND (
        event IN ('dispatch', 'wait', 'child_gone', 'owner_turn', 'owner_final', 'owner_gone', 'completion_consumed')
        OR child != ''
        OR notEmpty(aliases)
    )
