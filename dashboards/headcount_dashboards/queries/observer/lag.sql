-- From the event, by its producer's clock, to its arrival.
SELECT
    $__timeInterval(fromUnixTimestamp64Nano(received_ns)) AS time,
    quantile(0.5)(received_ns - event_ns) / 1e9 AS median,
    quantile(0.99)(received_ns - event_ns) / 1e9 AS "99 %"
FROM evidence
WHERE received_ns >= toUnixTimestamp($__fromTime) * 1000000000
    AND received_ns <= (toUnixTimestamp($__toTime) + 1) * 1000000000
GROUP BY time
ORDER BY time
