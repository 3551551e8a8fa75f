-- What became of the runs that were called wrong. Dismissed ones were noise to somebody. recovered ones were not lost.
SELECT
    class,
    count() AS runs,
    countIf(status NOT IN ('completed', 'recovered')) AS "still open",
    countIf(status = 'recovered') AS recovered,
    countIf(outcome = 'dismissed') AS dismissed,
    countIf(outcome IN ('superseded', 'cancelled', 'rejected')) AS "void otherwise",
    dismissed / runs AS "dismissed as noise"
FROM
(
    {{ called_wrong }}
) AS called
INNER JOIN
(
    {{ now_of_called }}
) AS now USING (session_id, run_id)
GROUP BY class
ORDER BY runs DESC, class
