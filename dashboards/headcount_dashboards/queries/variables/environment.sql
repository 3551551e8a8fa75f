SELECT DISTINCT toString(environment) AS environment FROM session_environment ORDER BY environment LIMIT 200
