-- Runs that have the signal now: its version is that of the latest verdict of the run.
SELECT session_id, run_id, severity_now, owner_id, agent, service, since
FROM
(
    SELECT session_id, run_id, version, owner_id, agent, service, signal.severity AS severity_now, since
    FROM signal FINAL
    WHERE name = '{signal}' AND severity = 'page'
) AS opened
INNER JOIN
(
    SELECT session_id, run_id, version
    FROM verdict FINAL
    WHERE session_id IN (SELECT session_id FROM signal WHERE name = '{signal}')
) AS latest USING (session_id, run_id, version)
