SELECT
    $__timeInterval(since) AS time,
    sum(working_s) / sum(total_s) AS working,
    sum(waiting_s) / sum(total_s) AS waiting,
    sum(idle_s) / sum(total_s) AS idle,
    sum(delivery_s) / sum(total_s) AS delivery
FROM verdict AS v FINAL
WHERE NOT is_open
    AND $__timeFilter(since)
    AND total_s > 0
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
GROUP BY time
ORDER BY time
