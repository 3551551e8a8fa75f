-- A run counts once for each class it came into.
SELECT $__timeInterval(believed_at) AS time, toString(failure_class) AS class, count() AS runs
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
GROUP BY time, class
ORDER BY time, class
