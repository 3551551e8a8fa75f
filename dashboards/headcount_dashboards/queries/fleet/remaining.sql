SELECT
    if(owner_id = '', 'root', owner_id) AS owner,
    countIf(v.remaining) AS remaining,
    countIf(v.undelivered) AS undelivered,
    countIf(is_abnormal) AS "not well",
    dateDiff('second', min(dispatched_at), now64(3)) AS oldest,
    session_id AS session
FROM verdict AS v FINAL
WHERE is_open AND (v.remaining OR v.undelivered)
    {{ of_kind }}
GROUP BY session_id, owner_id
ORDER BY undelivered DESC, remaining DESC, session, owner
LIMIT 50
