-- One row a run: the texts become the labels of an alert, the one number its value, the seconds since it went wrong.
SELECT
    {{ labels }}
    toFloat64(greatest(dateDiff('second', since, now64(9)), 0)) AS age
FROM
(
    {{ wrong_runs }}
) AS wrong
{{ environments }}
ORDER BY since DESC, session, run
LIMIT 500
