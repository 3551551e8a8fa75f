SELECT
    if(owner_id = '', 'root', owner_id) AS owner,
    count() AS runs,
    countIf(v.remaining) AS remaining,
    countIf(v.undelivered) AS undelivered,
    if(countIf(v.remaining) = 0, 'yes', 'no') AS "all ended",
    if(countIf(v.remaining) = 0 AND countIf(v.undelivered) = 0, 'yes', 'no') AS settled,
    if(max(JSONExtractBool(document, 'group', 'owner_gone')), 'yes', '') AS "owner gone"
FROM verdict AS v FINAL
{{ of_owner }}
    AND JSONExtractBool(document, 'group', 'counts')
GROUP BY owner_id
ORDER BY owner
LIMIT 200
