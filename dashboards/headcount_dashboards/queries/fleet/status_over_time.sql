-- What was believed at each moment: every transition takes a run out of one status and puts it into another.
WITH toStartOfInterval($__fromTime, INTERVAL $__interval_s second) AS first
SELECT time, status, runs
FROM
(
    SELECT time, status, toInt64(greatest(sum(sum(change)) OVER (PARTITION BY status ORDER BY time), 0)) AS runs
    FROM
    (
        SELECT
            greatest(toStartOfInterval(toDateTime(believed_at), INTERVAL $__interval_s second), first) AS time,
            toString(tupleElement(moved, 1)) AS status,
            tupleElement(moved, 2) AS change
        FROM transition
        ARRAY JOIN [(toString(to_status), 1), (toString(from_status), -1)] AS moved
        WHERE believed_at <= $__toTime
            AND tupleElement(moved, 1) IN ('active', 'suspect_delivery_failure', 'done_but_not_forwarded', 'blocked')
            {{ of_kind }}
        UNION ALL
        SELECT
            arrayJoin(arrayMap(
                step -> toDateTime(first + step * $__interval_s),
                range(toUInt64(intDiv(toUnixTimestamp($__toTime) - toUnixTimestamp(first), $__interval_s) + 1)))) AS time,
            arrayJoin(['active', 'suspect_delivery_failure', 'done_but_not_forwarded', 'blocked']) AS status,
            0 AS change
    )
    GROUP BY time, status
)
ORDER BY time, status
