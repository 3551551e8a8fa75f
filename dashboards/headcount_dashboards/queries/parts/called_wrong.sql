-- The runs that came into each class in the time, the latest of them.
SELECT session_id, run_id, toString(failure_class) AS class
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    {{ of_kind }}
GROUP BY session_id, run_id, failure_class
ORDER BY max(believed_at) DESC
LIMIT 50000
