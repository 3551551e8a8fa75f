-- The frequent events of each run, gathered from all its names, a row for each producer and turn.
SELECT
    transform(concat(session_id, '\x1f', run_id), {names:Array(String)}, {runs_of_names:Array(String)}, '') AS run,
    producer, turn,
    bitmapToArray(groupBitmapMergeState(moments)) AS moments,
    bitmapToArray(groupBitmapMergeState(tools)) AS tools,
    bitmapToArray(groupBitmapMergeState(first_tokens)) AS first_tokens,
    maxMapMerge(outputs) AS outputs,
    minMapMerge(children) AS children,
    groupUniqArrayMerge(models) AS models
FROM activity
WHERE session_id IN {sessions:Array(String)} AND run_id IN {runs:Array(String)}
    AND concat(session_id, '\x1f', run_id) IN {names:Array(String)}
GROUP BY run, producer, turn
