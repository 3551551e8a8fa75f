SELECT
    session_id AS session,
    count() AS runs,
    dateDiff('millisecond', min(dispatched_at), max(since)) / 1000 AS wall,
    sum(total_s) AS total,
    sum(working_s) AS working,
    sum(waiting_s) AS waiting,
    sum(idle_s) AS idle,
    sum(delivery_s) AS delivery,
    sum(total_s) - sum(idle_s) AS net,
    (sum(idle_s) + sum(delivery_s)) / sum(total_s) AS overhead
FROM verdict AS v FINAL
{{ settled }}
GROUP BY session_id
ORDER BY max(since) DESC, session
LIMIT 100
