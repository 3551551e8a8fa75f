SELECT $__timeInterval(Timestamp) AS time, toString(ServiceName) AS service, count() / $__interval_s AS "spans a second"
FROM otel_traces
WHERE $__timeFilter(Timestamp)
GROUP BY time, service
ORDER BY time, service
