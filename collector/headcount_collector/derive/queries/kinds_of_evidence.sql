-- When a child of each kind was first heard, for a store in which no tick has learned it yet: by the clocks of the
-- senders, and under the dispatched ids only.
SELECT d.service, d.agent, min(heard.at) AS heard_ns
FROM (SELECT DISTINCT run_key, service, agent FROM evidence WHERE event = 'dispatch') AS d
INNER JOIN
(
    SELECT run_key, min(first_ns) AS at FROM activity GROUP BY run_key
    UNION ALL
    SELECT run_key, min(event_ns) AS at FROM evidence WHERE event IN ('start', 'idle', 'child_done') GROUP BY run_key
) AS heard ON d.run_key = heard.run_key
GROUP BY d.service, d.agent
