SELECT
    run_id AS run,
    name AS signal,
    since,
    severity,
    evidence,
    agent,
    if(owner_id = '', 'root', owner_id) AS owner
FROM signal FINAL
WHERE session_id = ${session:singlequote}
    AND $__conditionalAll(if(owner_id = '', 'root', owner_id) IN (${owner:singlequote}), $owner)
    AND name IN ('duplicate_dispatch', 'redispatch_after_background', 'duplicate_completion', 'identity_collision')
ORDER BY since DESC, run
LIMIT 200
