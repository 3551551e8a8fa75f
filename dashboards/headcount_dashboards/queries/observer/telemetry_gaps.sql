SELECT $__timeInterval(since) AS time, toString(name) AS signal, count() AS opened
FROM signal FINAL
WHERE $__timeFilter(since) AND name IN ('telemetry_gap', 'clock_skew', 'unmatched')
GROUP BY time, signal
ORDER BY time, signal
