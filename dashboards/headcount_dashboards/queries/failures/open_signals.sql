-- Those that hold now: their version is that of the latest verdict of their run.
SELECT
    name AS signal,
    severity,
    run_id AS run,
    dateDiff('second', since, now64(3)) AS age,
    agent,
    evidence,
    session_id AS session
FROM
(
    SELECT * FROM signal FINAL
    WHERE severity IN ('page', 'warn')
        {{ of_kind }}
) AS opened
INNER JOIN
(
    SELECT session_id, run_id, version
    FROM verdict FINAL
    WHERE session_id IN (SELECT session_id FROM signal)
) AS latest USING (session_id, run_id, version)
ORDER BY indexOf(['page', 'warn'], severity), age DESC, run
LIMIT 200
