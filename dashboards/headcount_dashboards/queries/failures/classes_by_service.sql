SELECT if(service = '', 'unnamed', service) AS service_name, failure_class AS class, uniq((session_id, run_id)) AS runs
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
GROUP BY service, failure_class
ORDER BY runs DESC, service_name, class
LIMIT 50
