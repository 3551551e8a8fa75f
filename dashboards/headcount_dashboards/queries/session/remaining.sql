SELECT
    countIf(v.remaining) AS remaining,
    countIf(v.undelivered) AS undelivered,
    countIf(is_abnormal) AS "not well"
FROM verdict AS v FINAL
WHERE session_id = ${session:singlequote}
    AND $__conditionalAll(if(owner_id = '', 'root', owner_id) IN (${owner:singlequote}), $owner)
