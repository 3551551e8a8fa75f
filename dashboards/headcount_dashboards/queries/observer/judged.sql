SELECT
    $__timeInterval(at) AS time,
    sum(changed) AS changed,
    sum(due) AS due,
    sum(judged) AS judged,
    sum(transitions) AS transitions
FROM evaluation
WHERE $__timeFilter(at)
GROUP BY time
ORDER BY time
