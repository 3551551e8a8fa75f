-- The last of what was said of the obligation itself, at each moment.
{{ run_keys }}
SELECT fromUnixTimestamp64Nano(event_ns) AS time, evidence
FROM
(
    SELECT
        event_ns,
        multiIf(
            event = 'launch', concat('launch ', attributes['subagent.launch.state']),
            event = 'child_done', concat('ended: ', attributes['subagent.outcome']),
            event = 'completion_forwarded',
                if(attributes['subagent.forwarded_to_main'] = 'true', 'forwarded', 'not forwarded'),
            event = 'completion_received', 'received',
            event = 'completion_consumed', 'consumed',
            toString(event)) AS evidence
    FROM evidence FINAL
    WHERE session_key = halfMD5(${session:singlequote})
        AND run_key IN (SELECT run_key FROM keys)
        AND event IN (
            'dispatch', 'launch', 'start', 'child_done', 'child_gone', 'completion_received', 'completion_forwarded',
            'completion_consumed', 'kill', 'abort', 'dismiss')
)
ORDER BY time
