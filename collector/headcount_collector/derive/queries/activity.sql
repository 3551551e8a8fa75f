-- The frequent events of each run, gathered from all its names, a row for each producer and turn.
SELECT
    transform(run_key, {run_keys:Array(UInt64)}, {homes:Array(UInt32)}, 0) AS home, producer, turn,
    bitmapToArray(groupBitmapMergeState(pulse)) AS pulse,
    bitmapToArray(groupBitmapMergeState(outputs)) AS outputs,
    groupUniqArrayMerge(children) AS children,
    groupUniqArrayMerge(models) AS models,
    min(first_ns) AS first_ns,
    max(last_model) AS last_model
FROM activity
WHERE run_key IN {run_keys:Array(UInt64)}
GROUP BY home, producer, turn
