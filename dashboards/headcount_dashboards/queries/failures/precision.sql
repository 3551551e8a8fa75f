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
    SELECT session_id, run_id, toString(failure_class) AS class
    FROM transition
    WHERE $__timeFilter(believed_at)
        AND failure_class != ''
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
    GROUP BY session_id, run_id, failure_class
    ORDER BY max(believed_at) DESC
    LIMIT 50000
) AS called
INNER JOIN
(
    SELECT session_id, run_id, status, outcome
    FROM verdict FINAL
    WHERE session_id IN (
        SELECT session_id FROM transition WHERE $__timeFilter(believed_at) AND failure_class != '')
) AS now USING (session_id, run_id)
GROUP BY class
ORDER BY runs DESC, class
