-- Seconds since the last evaluation. a database without any counts as silent since for ever.
SELECT toFloat64(dateDiff('second', max(at), now64(9))) AS age
FROM evaluation
