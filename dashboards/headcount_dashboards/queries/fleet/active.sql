SELECT
    countIf(NOT is_abnormal) AS "in time",
    maxOrNull(dateDiff('second', dispatched_at, now64(3))) AS "oldest open"
FROM verdict FINAL
WHERE is_open AND dispatched_at > toDateTime64(0, 9)
    {{ of_kind }}
