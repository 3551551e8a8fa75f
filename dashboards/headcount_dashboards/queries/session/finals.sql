SELECT
    run_id AS "run left behind",
    since,
    severity,
    evidence,
    if(owner_id = '', 'root', owner_id) AS owner
FROM signal FINAL
{{ of_owner }}
    AND name IN ('premature_owner_final', 'orphaned', 'premature_completion')
ORDER BY since DESC, run_id
LIMIT 200
