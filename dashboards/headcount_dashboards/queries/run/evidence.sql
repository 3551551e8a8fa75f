{{ run_keys }}
SELECT
    fromUnixTimestamp64Nano(event_ns) AS happened,
    event,
    phase,
    arrayStringConcat(
        arrayMap(
            pair -> concat(replaceOne(tupleElement(pair, 1), 'subagent.', ''), ' ', tupleElement(pair, 2)),
            arraySort(CAST(attributes, 'Array(Tuple(String, String))'))),
        ', ') AS said,
    service,
    producer,
    (received_ns - event_ns) / 1e9 AS "on its way"
FROM evidence FINAL
WHERE session_key = halfMD5(${session:singlequote}) AND run_key IN (SELECT run_key FROM keys)
ORDER BY event_ns, event
LIMIT 1000
