SELECT DISTINCT toString(agent) AS agent FROM verdict WHERE agent != '' ORDER BY agent LIMIT 1000
