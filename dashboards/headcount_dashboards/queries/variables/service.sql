SELECT DISTINCT toString(service) AS service FROM verdict WHERE service != '' ORDER BY service LIMIT 1000
