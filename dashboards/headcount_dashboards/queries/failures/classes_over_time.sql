-- A run counts once for each class it came into.
SELECT $__timeInterval(believed_at) AS time, toString(failure_class) AS class, count() AS runs
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    {{ of_kind }}
GROUP BY time, class
ORDER BY time, class
