-- One row a run that has the signal now: its version is that of the latest verdict of the run.
SELECT
    session_id AS session,
    run_id AS run,
    if(owner_id = '', 'root', owner_id) AS owner,
    toString(agent) AS agent,
    toString(service) AS service,
    toString(severity) AS severity,
    toFloat64(greatest(dateDiff('second', since, now64(3)), 0)) AS age
FROM
(
    SELECT session_id, run_id, version, owner_id, agent, service, signal.severity AS severity, since
    FROM signal FINAL
    WHERE name = '{signal}' AND severity = 'page'
) AS opened
INNER JOIN
(
    SELECT session_id, run_id, version
    FROM verdict FINAL
    WHERE session_id IN (SELECT session_id FROM signal WHERE name = '{signal}')
) AS latest USING (session_id, run_id, version)
ORDER BY since DESC, session, run
LIMIT 500
