-- The accounts of runs as they were judged, summed over those that were settled in the time.
SELECT
    if(v.agent = '', 'unnamed', toString(v.agent)) AS "agent type",
    sum(working_s) AS working,
    sum(waiting_s) AS waiting,
    sum(idle_s) AS idle,
    sum(delivery_s) AS delivery
FROM verdict AS v FINAL
WHERE NOT is_open
    AND $__timeFilter(since)
    AND total_s > 0
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
GROUP BY "agent type"
ORDER BY sum(total_s) DESC, "agent type"
LIMIT 15
