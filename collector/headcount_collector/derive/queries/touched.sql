-- Whom the commits in (after, until] spoke of.
SELECT session_id, run_id, owner, child, max(gone) AS gone, max(directory) AS directory, max(rare) AS rare
FROM touched
WHERE received_ns > {after:Int64} AND received_ns <= {until:Int64}
GROUP BY session_id, run_id, owner, child
