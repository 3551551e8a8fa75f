WITH keys AS
(
    SELECT arrayJoin(arrayMap(
        name -> halfMD5(concat(session_id, char(0), name)), arrayDistinct(arrayPushFront(names, run_id)))) AS run_key
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
SELECT fromUnixTimestamp64Nano(tupleElement(turn, 1)) AS time, tupleElement(turn, 2) AS "model request"
FROM
(
    SELECT arrayJoin(if(
        ended > began,
        [(began, CAST('model request', 'Nullable(String)')), (ended, NULL)],
        [(began, CAST('model request', 'Nullable(String)'))])) AS turn
    FROM
    (
        SELECT min(call.began) AS began, greatest(max(succeeded), max(failed)) AS ended, max(pending) AS was_pending
        FROM call
        WHERE run_key IN (SELECT run_key FROM keys) AND event = 'model_request'
        GROUP BY key
        HAVING ended > began OR was_pending
    )
)
ORDER BY time
