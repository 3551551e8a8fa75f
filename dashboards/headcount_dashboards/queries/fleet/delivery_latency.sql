-- From the end of the child to the result in its owner's conversation.
SELECT
    $__timeInterval(delivered_at) AS time,
    quantile(0.5)(latency) AS median,
    quantile(0.9)(latency) AS "90 %",
    quantile(0.99)(latency) AS "99 %"
FROM
(
    SELECT delivered_at, greatest(toUnixTimestamp64Nano(delivered_at) - toUnixTimestamp64Nano(ended_at), 0) / 1e9 AS latency
    FROM verdict FINAL
    WHERE $__timeFilter(delivered_at)
        AND ended_at > toDateTime64(0, 9)
        {{ of_kind }}
)
GROUP BY time
ORDER BY time
