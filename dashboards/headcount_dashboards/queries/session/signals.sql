-- Those that hold now: their version is that of the latest verdict of their run.
SELECT run_id AS run, name AS signal, severity, since, evidence
FROM
(
    SELECT * FROM signal FINAL
    {{ of_owner }}
) AS opened
INNER JOIN
(
    SELECT session_id, run_id, version FROM verdict FINAL WHERE session_id = ${session:singlequote}
) AS latest USING (session_id, run_id, version)
ORDER BY indexOf(['page', 'warn', 'info'], severity), since, run
LIMIT 200
