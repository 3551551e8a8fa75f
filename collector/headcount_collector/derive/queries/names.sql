-- What else the runs of these sessions are called (alias), where they work (child), whom they wait for (waker).
SELECT
    session_id, run_id, tupleElement(named, 1) AS kind, tupleElement(named, 2) AS name, producer,
    min(event_ns) AS event_ns, min(received_ns) AS received_ns
FROM evidence
ARRAY JOIN arrayConcat(
    arrayMap(alias -> ('alias', alias), aliases),
    if(child = '', [], [('child', child)]),
    if(event = 'wait' AND attributes['subagent.wait.waker'] != '', [('waker', attributes['subagent.wait.waker'])], [])
) AS named
WHERE session_key IN {session_keys:Array(UInt64)} AND run_id != '' AND (notEmpty(aliases) OR child != '' OR event = 'wait')
GROUP BY session_id, run_id, named, producer
