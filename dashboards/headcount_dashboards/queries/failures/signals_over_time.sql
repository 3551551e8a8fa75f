SELECT $__timeInterval(since) AS time, toString(name) AS signal, count() AS opened
FROM signal FINAL
WHERE $__timeFilter(since)
    {{ of_kind }}
GROUP BY time, signal
ORDER BY time, signal
