-- When a child of each kind, by service and agent type of its dispatch, was first heard, as the tick learned it with
-- names and clocks made right. A few rows, kept for ever: "never heard" means ever.
CREATE TABLE IF NOT EXISTS kind
(
    service String,
    agent String,
    heard_ns SimpleAggregateFunction(min, Int64)
)
ENGINE = AggregatingMergeTree
ORDER BY (service, agent)
