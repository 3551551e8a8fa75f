WITH keys AS
(
    SELECT arrayJoin(arrayMap(
        name -> halfMD5(concat(session_id, char(0), name)), arrayDistinct(arrayPushFront(names, run_id)))) AS run_key
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
SELECT fromUnixTimestamp64Nano(event_ns) AS time, if(phase = 'pending', attributes['subagent.wait.reason'], NULL) AS wait
FROM evidence FINAL
WHERE session_key = halfMD5(${session:singlequote})
    AND run_key IN (SELECT run_key FROM keys)
    AND event = 'wait'
ORDER BY time
