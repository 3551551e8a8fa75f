-- Which of these runs, by their keys without a session, occur in records that name none.
SELECT DISTINCT run_key FROM
(
    SELECT run_key FROM activity WHERE run_key IN {run_keys:Array(UInt64)}
    UNION ALL
    SELECT run_key FROM evidence WHERE session_key = {session_key:UInt64} AND run_key IN {run_keys:Array(UInt64)}
)
