SELECT time, toInt64(greatest(sum(sum(change)) OVER (ORDER BY time), 0)) AS "open runs"
FROM
(
    SELECT
        $__timeInterval(believed_at) AS time,
        toInt64(to_status NOT IN ('completed', 'recovered')) - toInt64(from_status NOT IN ('', 'completed', 'recovered')) AS change
    FROM transition
    {{ of_owner }}
)
GROUP BY time
ORDER BY time
