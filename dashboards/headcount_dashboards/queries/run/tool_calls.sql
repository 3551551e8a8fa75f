{{ run_keys }}
SELECT
    if(tool = '', 'unnamed', tool) AS tool,
    count() AS calls,
    countIf(failed > 0 AND succeeded = 0) AS failed,
    countIf(ended = 0) AS "in flight",
    sumIf(ended - began, ended > began) / 1e9 AS "in all",
    maxIf(ended - began, ended > began) / 1e9 AS longest
FROM
(
    SELECT
        max(call.tool) AS tool, min(call.began) AS began, max(call.succeeded) AS succeeded, max(call.failed) AS failed,
        greatest(succeeded, failed) AS ended
    FROM call
    WHERE run_key IN (SELECT run_key FROM keys) AND event = 'tool_call'
    GROUP BY key
)
GROUP BY tool
ORDER BY calls DESC, tool
