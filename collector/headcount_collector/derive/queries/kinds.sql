-- When a child of each kind, by service and agent type, was first heard.
SELECT service, agent, min(k.heard_ns) AS heard_ns
FROM kind AS k
GROUP BY service, agent
