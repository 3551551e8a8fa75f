-- Whether the observer said of itself that it may be blind, in each of the last evaluations.
SELECT toFloat64(count() > 0 AND min(observer = 'degraded')) AS degraded
FROM
(
    SELECT observer FROM evaluation WHERE at > now64(9) - INTERVAL 1 MINUTE
)
