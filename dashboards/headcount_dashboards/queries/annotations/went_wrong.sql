-- One mark for each run that turned from well to not well.
SELECT
    believed_at AS time,
    concat(if(failure_class = '', to_status, failure_class), ': ', run_id) AS title,
    concat(reason, ' (', if(agent = '', 'an agent', agent), ', session ', session_id, ')') AS text,
    toString(severity) AS tags
FROM transition
WHERE $__timeFilter(believed_at)
    AND to_status IN ('suspect_delivery_failure', 'done_but_not_forwarded', 'blocked')
    AND from_status NOT IN ('suspect_delivery_failure', 'done_but_not_forwarded', 'blocked')
    AND severity = 'page'
    {{ of_kind }}
ORDER BY time DESC
LIMIT 100
