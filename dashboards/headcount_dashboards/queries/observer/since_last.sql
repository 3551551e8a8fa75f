SELECT if(count() = 0, NULL, dateDiff('second', max(at), now64(9))) AS "since the last evaluation"
FROM evaluation
WHERE at > now64(9) - INTERVAL 7 DAY
