-- When a child of each kind, by service and agent type of its dispatch, was first heard.
SELECT d.service, d.agent, min(heard.at) AS at
FROM (SELECT DISTINCT session_id, run_id, service, agent FROM evidence WHERE event = 'dispatch') AS d
INNER JOIN
(
    SELECT session_id, run_id, toInt64(bitmapMin(groupBitmapMergeState(moments))) * 1000000 AS at
    FROM activity
    GROUP BY session_id, run_id
    UNION ALL
    SELECT session_id, run_id, min(event_ns) AS at
    FROM evidence
    WHERE event IN ('start', 'idle', 'child_done')
    GROUP BY session_id, run_id
) AS heard ON d.session_id = heard.session_id AND d.run_id = heard.run_id
GROUP BY d.service, d.agent
