-- The frequent events of each run, gathered from all its names, a row for each producer and turn.
WITH arrayMap((session, run) -> cityHash64(session, run), {name_sessions:Array(String)}, {name_runs:Array(String)}) AS keys
SELECT
    transform(run_key, keys, {homes:Array(UInt32)}, 0) AS home, producer, turn,
    bitmapToArray(groupBitmapMergeState(pulse)) AS pulse,
    bitmapToArray(groupBitmapMergeState(outputs)) AS outputs,
    groupUniqArrayMerge(children) AS children,
    groupUniqArrayMerge(models) AS models,
    min(first_ns) AS first_ns
FROM activity
WHERE run_key IN keys
GROUP BY home, producer, turn
