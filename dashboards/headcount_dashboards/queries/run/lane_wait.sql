{{ run_keys }}
SELECT fromUnixTimestamp64Nano(event_ns) AS time, if(phase = 'pending', attributes['subagent.wait.reason'], NULL) AS wait
FROM evidence FINAL
WHERE session_key = halfMD5(${session:singlequote})
    AND run_key IN (SELECT run_key FROM keys)
    AND event = 'wait'
ORDER BY time
