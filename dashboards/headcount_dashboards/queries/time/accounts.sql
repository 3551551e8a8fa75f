-- The accounts of runs as they were judged, summed over those that were settled in the time.
SELECT
    if(v.{by} = '', 'not known', toString(v.{by})) AS "{name}",
    sum(working_s) AS working,
    sum(waiting_s) AS waiting,
    sum(idle_s) AS idle,
    sum(delivery_s) AS delivery
FROM verdict AS v FINAL
{{ settled }}
GROUP BY "{name}"
ORDER BY sum(total_s) DESC, "{name}"
LIMIT 15
