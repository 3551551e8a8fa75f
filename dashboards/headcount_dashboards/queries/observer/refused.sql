-- Counters count from the start of the process. What each gained in an interval, a counter that is new counting from 0.
SELECT
    $__timeInterval(at) AS time,
    concat(replaceOne(replaceOne(name, '_total', ''), '_', ' '), if(label = '', '', concat(': ', label))) AS refusal,
    sum(if(value < before, value, value - before)) AS refused
FROM
(
    SELECT
        at, toString(name) AS name, toString(label) AS label, value,
        lagInFrame(value, 1, if(at > $__fromTime + INTERVAL 30 SECOND, 0., value)) OVER (
            PARTITION BY name, label ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
    FROM collector_number
    WHERE $__timeFilter(at)
        AND name IN (
            'refused_requests_total', 'rejected_spans_total', 'failed_commits_total', 'hooks_refused_total', 'hooks_dropped_total')
)
GROUP BY time, refusal
ORDER BY time, refusal
