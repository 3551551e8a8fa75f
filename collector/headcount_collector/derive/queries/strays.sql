-- Which of these names occur in records that name no session.
SELECT DISTINCT run_id FROM
(
    SELECT run_id FROM activity WHERE run_key IN arrayMap(run -> cityHash64('', run), {runs:Array(String)})
    UNION ALL
    SELECT run_id FROM evidence WHERE session_key = cityHash64('') AND run_id IN {runs:Array(String)}
)
