CREATE MATERIALIZED VIEW IF NOT EXISTS producer_from_lifecycle_mv TO producer AS
SELECT
    producer,
    intDiv(seq, 64) AS block,
    min(received_ns - event_ns) AS lag_ns,
    uniqUpToState(3)(identity) AS records,
    groupBitOr(if(seq > 0, bitShiftLeft(toUInt64(1), seq % 64), 0)) AS numbers,
    minMapState(if(seq > 0, [seq], []), if(seq > 0, [event_ns], [])) AS moments,
    max(seq) AS highest,
    max(event_ns) AS last_ns,
    max(keepalive_ms) AS keepalive_ms,
    max(export_interval_ms) AS export_interval_ms
FROM lifecycle
WHERE producer != ''
GROUP BY producer, block
