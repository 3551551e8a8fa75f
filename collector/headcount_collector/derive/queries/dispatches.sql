-- Who was asked for what in these sessions: enough to find the neighbours of a run.
SELECT
    session_id, run_id, event_ns, received_ns, producer, identity, span_id, owner, parent, child, agent, service,
    attributes['subagent.prompt.digest'] AS prompt_digest,
    if(
        attributes['subagent.description.digest'] != '',
        attributes['subagent.description.digest'], attributes['subagent.description']
    ) AS description,
    attributes['subagent.replica'] != '' AS replica,
    JSONExtract(attributes['subagent.supersedes'], 'Array(String)') AS supersedes
FROM evidence
WHERE session_key IN {session_keys:Array(UInt64)} AND event = 'dispatch' AND run_id != ''
