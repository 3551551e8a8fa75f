SELECT
    if(agent = '', 'unnamed', agent) AS "agent type",
    uniqIf((session_id, run_id), failure_class = 'done_but_not_forwarded') AS done_but_not_forwarded,
    uniqIf((session_id, run_id), failure_class = 'no_completion_event') AS no_completion_event,
    uniqIf((session_id, run_id), failure_class = 'session_exists_no_result_bounce') AS session_exists_no_result_bounce,
    uniqIf((session_id, run_id), failure_class = 'unclear_slow_or_lost') AS unclear_slow_or_lost,
    uniqIf((session_id, run_id), failure_class NOT IN (
        'done_but_not_forwarded', 'no_completion_event', 'session_exists_no_result_bounce', 'unclear_slow_or_lost')) AS other,
    uniq((session_id, run_id)) AS runs
FROM transition
WHERE $__timeFilter(believed_at)
    AND failure_class != ''
    {{ of_kind }}
GROUP BY agent
ORDER BY runs DESC, "agent type"
LIMIT 20
