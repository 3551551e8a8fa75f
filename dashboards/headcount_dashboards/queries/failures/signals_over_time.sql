SELECT $__timeInterval(since) AS time, toString(name) AS signal, count() AS opened
FROM signal FINAL
WHERE $__timeFilter(since)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
GROUP BY time, signal
ORDER BY time, signal
