SELECT
    $__timeInterval(since) AS time,
    sum(working_s) / sum(total_s) AS working,
    sum(waiting_s) / sum(total_s) AS waiting,
    sum(idle_s) / sum(total_s) AS idle,
    sum(delivery_s) / sum(total_s) AS delivery
FROM verdict AS v FINAL
{{ settled }}
GROUP BY time
ORDER BY time
