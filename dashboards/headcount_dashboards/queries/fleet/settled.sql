SELECT
    countIf(to_status = 'completed') AS completed,
    countIf(to_status = 'recovered') AS recovered
FROM transition
WHERE $__timeFilter(believed_at)
    AND to_status IN ('completed', 'recovered')
    {{ of_kind }}
