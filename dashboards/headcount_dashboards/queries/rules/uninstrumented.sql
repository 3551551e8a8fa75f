-- One row for each kind of child that was never heard: the number is how many of them are overdue.
SELECT toString(service) AS service, toString(agent) AS agent, toFloat64(count()) AS runs
FROM verdict FINAL
WHERE is_abnormal AND leaning = 'uninstrumented' AND severity IN ('warn', 'page')
GROUP BY service, agent
ORDER BY service, agent
LIMIT 200
