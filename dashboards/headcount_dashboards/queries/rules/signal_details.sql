-- What a message says of the same runs: the number is the seconds since the last progress, or the dispatch.
WITH wrong AS
(
    {{ signalled_runs }}
)
SELECT
    {{ labels }}
    task, progressed, in_flight, result, recover,
    toFloat64(greatest(dateDiff('second', greatest(dispatched_at, last_progress_at), now64(9)), 0)) AS silent
FROM wrong
{{ environments }}
{{ details }}
ORDER BY since DESC, session, run
LIMIT 500
