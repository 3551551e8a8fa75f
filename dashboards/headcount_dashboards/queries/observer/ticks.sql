SELECT
    $__timeInterval(at) AS time,
    quantile(0.5)(took_ns) / 1e9 AS "took, median",
    max(took_ns) / 1e9 AS "took, worst",
    max(late_ns) / 1e9 AS "late, worst"
FROM evaluation
WHERE $__timeFilter(at)
GROUP BY time
ORDER BY time
