-- Seconds of each interval without evaluation, or in which the observer held itself back.
SELECT
    $__timeInterval(at) AS time,
    sumIf(gap, gap > 10) AS "no tick",
    sumIf(least(gap, 10), observer = 'degraded') AS degraded
FROM
(
    SELECT
        at, observer,
        dateDiff('millisecond', lagInFrame(at, 1, at) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), at) / 1000 AS gap
    FROM evaluation
    WHERE $__timeFilter(at)
)
GROUP BY time
ORDER BY time
