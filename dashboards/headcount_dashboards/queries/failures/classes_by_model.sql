-- By the model that the child was seen to use, or was asked to.
SELECT if(model = '', 'not known', toString(model)) AS "model name", class, count() AS runs
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
    SELECT session_id, run_id, model
    FROM verdict FINAL
    WHERE session_id IN (
        SELECT session_id FROM transition WHERE $__timeFilter(believed_at) AND failure_class != '')
) AS now USING (session_id, run_id)
GROUP BY "model name", class
ORDER BY runs DESC, "model name", class
LIMIT 50
