-- Moments with a tool call that succeeded or a first token, and with output. silence begins a minute after one.
{{ run_keys }},
moments AS
(
    SELECT arrayJoin(arrayMap(pulse -> toInt64(intDiv(pulse, 4)), arrayFilter(pulse -> bitAnd(pulse, 3) > 0, bitmapToArray(groupBitmapMergeState(pulse))))) AS ms
    FROM activity
    WHERE run_key IN (SELECT run_key FROM keys)
    UNION ALL
    SELECT arrayJoin(arrayMap(output -> toInt64(intDiv(bitShiftRight(output, 28) * 125, 2)), bitmapToArray(groupBitmapMergeState(outputs)))) AS ms
    FROM activity
    WHERE run_key IN (SELECT run_key FROM keys)
)
SELECT fromUnixTimestamp64Milli(tupleElement(turn, 1)) AS time, tupleElement(turn, 2) AS progress
FROM
(
    SELECT arrayJoin(if(
        next_ms - ms > 60000 OR next_ms = 0,
        [(ms, CAST('progress', 'Nullable(String)')), (ms + 60000, NULL)],
        [(ms, CAST('progress', 'Nullable(String)'))])) AS turn
    FROM
    (
        SELECT ms, leadInFrame(ms, 1, toInt64(0)) OVER (ORDER BY ms ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS next_ms
        FROM moments
    )
)
ORDER BY time
