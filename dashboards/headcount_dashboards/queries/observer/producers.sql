-- A producer numbers its records from 1: what is missing between 1 and the highest was lost, or is still on its way.
SELECT
    producer,
    toUInt64(highest - heard) AS missing,
    highest AS records,
    dateDiff('second', fromUnixTimestamp64Nano(last_event_ns), now64(9)) AS "last heard",
    lag_s AS "best arrival",
    if(keepalive = 0, NULL, keepalive / 1000) AS "keep-alive every"
FROM
(
    SELECT
        producer,
        max(producer.highest) AS highest,
        sum(in_block) AS heard,
        max(last_event) AS last_event_ns,
        min(lag) / 1e9 AS lag_s,
        max(keep) AS keepalive
    FROM
    (
        SELECT
            producer, block, max(p.highest) AS highest, bitCount(groupBitOr(p.numbers)) AS in_block, max(last_ns) AS last_event,
            min(lag_ns) AS lag, max(keepalive_ms) AS keep
        FROM producer AS p
        GROUP BY producer, block
    ) AS producer
    GROUP BY producer
)
ORDER BY missing DESC, "last heard", producer
LIMIT 50
