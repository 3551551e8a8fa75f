SELECT
    toString(argMax(observer, at)) AS observer
FROM evaluation
WHERE at > now64(9) - INTERVAL 1 DAY
HAVING count() > 0
