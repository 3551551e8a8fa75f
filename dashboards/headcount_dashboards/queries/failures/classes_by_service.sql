SELECT if(service = '', 'unnamed', service) AS service_name, failure_class AS class, uniq((session_id, run_id)) AS runs
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    {{ of_kind }}
GROUP BY service, failure_class
ORDER BY runs DESC, service_name, class
LIMIT 50
