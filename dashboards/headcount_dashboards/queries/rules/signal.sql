-- One row a run that has the signal now: the number is the seconds since it opened.
SELECT
    {{ labels }}
    toFloat64(greatest(dateDiff('second', since, now64(3)), 0)) AS age
FROM
(
    {{ signalled_runs }}
) AS wrong
{{ environments }}
ORDER BY since DESC, session, run
LIMIT 500
