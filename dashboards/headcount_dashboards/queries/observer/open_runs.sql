SELECT $__timeInterval(at) AS time, max(open_runs) AS "open runs"
FROM evaluation
WHERE $__timeFilter(at)
GROUP BY time
ORDER BY time
