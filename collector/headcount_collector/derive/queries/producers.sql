-- The clocks and the numbering of these processes, in blocks of 64 numbers; these are told only where one is missing.
SELECT
    producer,
    min(lag) AS lag_ns,
    if(max(enough), argMaxIf(lag, block, enough), lag_ns) AS latest_lag_ns,
    uniqUpToMerge(3)(seen) AS records,
    max(last_ns) AS last_ns,
    max(keepalive_ms) AS keepalive_ms,
    max(export_interval_ms) AS export_interval_ms,
    if(
        sum(numbered) = max(highest), '[]', toJSONString(groupArrayIf((block, numbered, highest), highest > 0))
    ) AS blocks
FROM
(
    SELECT
        producer, block,
        min(p.lag_ns) AS lag, uniqUpToMergeState(3)(p.records) AS seen, finalizeAggregation(seen) >= 3 AS enough,
        bitCount(groupBitOr(p.numbers)) AS numbered, max(p.highest) AS highest, max(p.last_ns) AS last_ns,
        max(p.keepalive_ms) AS keepalive_ms, max(p.export_interval_ms) AS export_interval_ms
    FROM producer AS p
    WHERE producer IN {producers:Array(String)}
    GROUP BY producer, block
)
GROUP BY producer
