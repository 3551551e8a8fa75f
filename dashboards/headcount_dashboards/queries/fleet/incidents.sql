SELECT
    if(is_open, 'open', 'closed') AS state,
    level,
    severity,
    dateDiff('second', opened_at, if(is_open, now64(9), closed_at)) AS "open for",
    unmet AS "runs owed",
    length(runs) AS "runs in all",
    if(kind = 'owner', if(owner_id = '', 'root', owner_id), toString(kind)) AS owner,
    JSONExtractString(document, 'acknowledgement', 'by') AS "acknowledged by",
    if(is_open AND JSONExtractInt(document, 'next_step_at') > 0,
        greatest(dateDiff('second', now64(9), fromUnixTimestamp64Nano(JSONExtractInt(document, 'next_step_at'))), 0),
        NULL) AS "next step in",
    session_id AS session
FROM incident FINAL
WHERE (is_open OR $__timeFilter(closed_at))
    {{ of_environment }}
ORDER BY is_open DESC, indexOf(['page', 'warn', 'info'], severity), opened_at DESC, incident_id
LIMIT 100
