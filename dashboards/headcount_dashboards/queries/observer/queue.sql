-- Commits that the judgement had not read yet when it was last asked: what stood between intake and verdict.
SELECT
    $__timeInterval(at) AS time,
    max(greatest(toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(read_until), 0)) / 1e9 AS "not read yet"
FROM evaluation
WHERE $__timeFilter(at)
GROUP BY time
ORDER BY time
