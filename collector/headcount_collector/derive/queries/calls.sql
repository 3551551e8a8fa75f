-- Tool calls and model requests of each run, gathered from all its names, a row for each kind: how many came back,
-- and one by one only those that the judgement asks for,
-- or that come under a name which several runs claim (`shared`). `unclaimed` are ends that met no beginning: in order of time
-- they close what is open and has nothing that an end could name. The lists, mostly empty, travel as JSON: nested
-- columns cost the client more than the engine needs for all the rest.
SELECT
    home, event, came_back_count,
    toValidUTF8(toJSONString(open)), toValidUTF8(toJSONString(unclaimed)), toValidUTF8(toJSONString(failures)),
    toValidUTF8(toJSONString(triggered)), toValidUTF8(toJSONString(lasting)), nudged,
    toValidUTF8(toJSONString(added)), toValidUTF8(toJSONString(awaited)), toValidUTF8(toJSONString(requests)),
    toValidUTF8(toJSONString(shared))
FROM
(
    SELECT
        home, event,
        countIf(came_back > 0) AS came_back_count,
        groupArrayIf((began, tool, call, keyed, turn, trigger, stream, producer), pending AND came_back = 0) AS open,
        if(
            notEmpty(open),
            arrayFilter(
                ending -> ending.3 = '' OR arrayExists(o -> o.3 = '' AND NOT o.4, open),
                groupArrayIf((came_back, tool, call, producer), NOT pending AND came_back > 0)
            ),
            []
        ) AS unclaimed,
        groupArrayIf((failed, succeeded, tool, error, turn, producer), failed > 0) AS failures,
        arrayFilter(
            request -> request.7 OR nudged,
            groupArrayIf(
                (began, came_back, turn, trigger, stream, producer, long),
                event = 'model_request' AND came_back > 0 AND (long OR trigger != '')
            )
        ) AS triggered,
        groupArrayIf((began, came_back, tool, call, producer), event = 'tool_call' AND came_back > 0 AND long) AS lasting,
        countIf(trigger NOT IN ('', 'task')) > 0 AS nudged,
        groupArrayIf((came_back, tokens, turn, producer), tokens > 0 AND came_back > 0) AS added,
        groupArrayIf((call, came_back, producer), call != '' AND came_back > 0 AND call IN {wakers:Array(String)}) AS awaited,
        if(home IN {owners:Array(UInt32)}, groupArrayIf((began, producer), event = 'model_request'), []) AS requests,
        groupArrayIf((began, producer), came_back > 0 AND home IN {several:Array(UInt32)}) AS shared
    FROM
    (
        SELECT
            transform(run_key, {run_keys:Array(UInt64)}, {homes:Array(UInt32)}, 0) AS home,
            event, key, max(c.producer) AS producer, max(c.pending) AS pending, max(c.keyed) AS keyed, min(c.began) AS began,
            max(c.succeeded) AS succeeded, max(c.failed) AS failed, greatest(succeeded, failed) AS came_back,
            pending AND came_back - began >= {lasting_ns:Int64} AS long,
            max(c.tool) AS tool, max(c.call) AS call, max(c.error) AS error, max(c.turn) AS turn,
            max(c.trigger) AS trigger, max(c.stream) AS stream, max(c.tokens) AS tokens
        FROM call AS c
        WHERE run_key IN {run_keys:Array(UInt64)}
        GROUP BY home, event, key
    )
    GROUP BY home, event
)
