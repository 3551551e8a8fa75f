SELECT time, toInt64(greatest(sum(sum(change)) OVER (ORDER BY time), 0)) AS "open runs"
FROM
(
    SELECT
        $__timeInterval(believed_at) AS time,
        toInt64(to_status NOT IN ('completed', 'recovered')) - toInt64(from_status NOT IN ('', 'completed', 'recovered')) AS change
    FROM transition
    WHERE session_id = ${session:singlequote}
    AND $__conditionalAll(if(owner_id = '', 'root', owner_id) IN (${owner:singlequote}), $owner)
)
GROUP BY time
ORDER BY time
