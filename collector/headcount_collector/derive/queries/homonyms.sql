-- In which sessions these run ids were dispatched.
SELECT run_id, groupUniqArray(2)(session_id) AS sessions
FROM evidence
WHERE event = 'dispatch' AND run_id IN {runs:Array(String)} AND session_id != ''
GROUP BY run_id
