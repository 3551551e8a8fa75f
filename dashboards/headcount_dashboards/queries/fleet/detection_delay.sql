-- From the moment a run went wrong, by event time, to the moment this was believed.
SELECT
    $__timeInterval(believed_at) AS time,
    quantile(0.5)(delay) AS median,
    quantile(0.95)(delay) AS "95 %",
    max(delay) AS worst
FROM
(
    SELECT believed_at, (toUnixTimestamp64Nano(believed_at) - toUnixTimestamp64Nano(happened_at)) / 1e9 AS delay
    FROM transition
    WHERE $__timeFilter(believed_at)
        AND to_status IN ('suspect_delivery_failure', 'done_but_not_forwarded', 'blocked')
        AND from_status NOT IN ('suspect_delivery_failure', 'done_but_not_forwarded', 'blocked')
        AND NOT late
        {{ of_kind }}
)
GROUP BY time
ORDER BY time
