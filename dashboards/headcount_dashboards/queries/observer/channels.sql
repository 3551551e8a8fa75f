SELECT
    channel,
    count() AS messages,
    countIf(last.outcome = 'sent') AS sent,
    countIf(last.outcome IN ('', 'sending', 'failed')) AS "on their way",
    countIf(last.outcome = 'dead') AS "given up",
    countIf(last.outcome = 'superseded') AS superseded,
    maxIf(dateDiff('millisecond', decided_at, last.at), last.outcome = 'sent') / 1000 AS "slowest",
    argMaxIf(last.error, last.at, last.error != '') AS "last error"
FROM
(
    SELECT message_id, channel, decided_at
    FROM alert_message FINAL
    WHERE $__timeFilter(decided_at)
) AS message
LEFT JOIN
(
    SELECT message_id, toString(argMax(outcome, a.at)) AS outcome, argMax(error, a.at) AS error, max(a.at) AS at
    FROM alert_attempt AS a
    WHERE a.at >= $__fromTime
    GROUP BY message_id
) AS last USING message_id
GROUP BY channel
ORDER BY channel
