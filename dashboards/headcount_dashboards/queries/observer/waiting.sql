SELECT
    $__timeInterval(at) AS time,
    toString(transform(toString(name), ['queued_requests', 'hooks_waiting'], ['requests', 'hooks'], '')) AS kind,
    max(value) AS waiting
FROM collector_number
WHERE $__timeFilter(at)
    AND name IN ('queued_requests', 'hooks_waiting')
GROUP BY time, kind
ORDER BY time, kind
