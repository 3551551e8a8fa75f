-- By the model that the dispatch asked for.
WITH failed AS
(
    SELECT
        halfMD5(session_id) AS session_key,
        halfMD5(concat(session_id, char(0), run_id)) AS run_key,
        toString(failure_class) AS class
    FROM transition
    WHERE $__timeFilter(believed_at)
        AND failure_class != ''
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(agent IN (${agent:singlequote}), $agent)
    GROUP BY session_id, run_id, failure_class
    ORDER BY max(believed_at) DESC
    LIMIT 20000
)
SELECT if(model = '', 'not said', model) AS model, class, count() AS runs
FROM failed
LEFT ANY JOIN
(
    SELECT run_key, attributes['gen_ai.request.model'] AS model
    FROM evidence
    WHERE event = 'dispatch'
        AND session_key IN (SELECT session_key FROM failed)
        AND run_key IN (SELECT run_key FROM failed)
) AS asked USING run_key
GROUP BY model, class
ORDER BY runs DESC, model, class
LIMIT 50
