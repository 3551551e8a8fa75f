SELECT
    run_id AS run,
    name AS signal,
    since,
    severity,
    evidence,
    agent,
    if(owner_id = '', 'root', owner_id) AS owner
FROM signal FINAL
{{ of_owner }}
    AND name IN ('duplicate_dispatch', 'redispatch_after_background', 'duplicate_completion', 'identity_collision')
ORDER BY since DESC, run
LIMIT 200
