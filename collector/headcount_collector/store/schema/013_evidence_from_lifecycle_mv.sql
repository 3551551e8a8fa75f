CREATE MATERIALIZED VIEW IF NOT EXISTS evidence_from_lifecycle_mv TO evidence AS
SELECT
    session_key, run_key, session_id, event, run_id, identity, phase, event_ns, start_ns, received_ns, producer, span_id, parent_span_id,
    foreign, owner, service, agent, parent, child, aliases, tokens,
    mapFilter(
        (key, value) -> (startsWith(key, 'subagent.') OR key IN ('gen_ai.request.model', 'error.type'))
            AND key NOT IN (
                'subagent.event', 'subagent.run.id', 'subagent.run.alias', 'subagent.phase', 'subagent.owner.id',
                'subagent.parent.run.id', 'subagent.child_session.key', 'subagent.producer.id', 'subagent.producer.seq',
                'subagent.producer.keepalive_ms', 'subagent.producer.export_interval_ms'
            ),
        attributes
    ) AS attributes
FROM lifecycle
WHERE event NOT IN ('tool_call', 'model_request', 'first_token', 'output', 'heartbeat', 'activity')
    OR notEmpty(aliases)
    OR (producer = '' AND event_ns > received_ns)
