-- What was in flight, from its beginning to its end. the lane is empty from there on.
{{ run_keys }}
SELECT fromUnixTimestamp64Nano(tupleElement(turn, 1)) AS time, tupleElement(turn, 2) AS {lane}
FROM
(
    SELECT arrayJoin(if(
        ended > began,
        [(began, CAST(words, 'Nullable(String)')), (ended, NULL)],
        [(began, CAST(words, 'Nullable(String)'))])) AS turn
    FROM
    (
        SELECT
            min(call.began) AS began, greatest(max(succeeded), max(failed)) AS ended, max(pending) AS was_pending,
            max(if(call.tool = '', replaceOne('{event}', '_', ' '), toString(call.tool))) AS words
        FROM call
        WHERE run_key IN (SELECT run_key FROM keys) AND event = '{event}'
        GROUP BY key
        HAVING ended > began OR was_pending
    )
)
ORDER BY time
