-- Reads the lifecycle spans of the shim and the hooks, and the spans that others make inside a run: one row for each
-- thing that a span says. It must be total: a view that throws would stop every neighbour of a bad span.
CREATE MATERIALIZED VIEW IF NOT EXISTS lifecycle_from_otel_traces_mv TO lifecycle AS
SELECT
    a['session.id'] AS session_id,
    multiIf(startsWith(event, 'owner_'), '', length(named) <= 512, named, '') AS run_id,
    halfMD5(session_id) AS session_key,
    halfMD5(concat(session_id, '\0', run_id)) AS run_key,
    tupleElement(said, 1) AS event,
    tupleElement(said, 2) AS phase,
    tupleElement(said, 3) AS event_ns,
    started AS start_ns,
    if(stamped > 0, stamped, toUnixTimestamp64Nano(now64(9))) AS received_ns,
    a['subagent.producer.id'] AS producer,
    toUInt64OrZero(a['subagent.producer.seq']) AS seq,
    if(producer != '' AND seq > 0, concat(producer, ':', toString(seq)), SpanId) AS identity,
    SpanId AS span_id,
    ParentSpanId AS parent_span_id,
    kind != 'lifecycle' AS foreign,
    a['subagent.owner.id'] AS owner,
    ServiceName AS service,
    a['gen_ai.agent.name'] AS agent,
    a['subagent.parent.run.id'] AS parent,
    a['subagent.child_session.key'] AS child,
    arrayFilter(name -> name != '' AND length(name) <= 512, JSONExtract(a['subagent.run.alias'], 'Array(String)')) AS aliases,
    a['subagent.turn.id'] AS turn,
    a['subagent.turn.trigger'] AS trigger,
    multiIf(a['gen_ai.request.stream'] = 'true', 1, a['gen_ai.request.stream'] = 'false', 0, -1) AS stream,
    if(a['gen_ai.tool.name'] != '', a['gen_ai.tool.name'], a['tool_name']) AS tool,
    if(a['gen_ai.tool.call.id'] != '', a['gen_ai.tool.call.id'], a['tool_use_id']) AS call,
    multiIf(
        event != 'tool_call' OR phase = 'pending', '',
        a['subagent.error.digest'] != '', a['subagent.error.digest'],
        a['error.type'] != '', a['error.type'],
        StatusCode IN ('Error', 'STATUS_CODE_ERROR') OR a['success'] = 'false', 'error',
        ''
    ) AS error,
    a['gen_ai.response.model'] AS model,
    multiIf(
        event = 'model_request' AND foreign,
            toUInt64OrZero(if(a['gen_ai.usage.output_tokens'] != '', a['gen_ai.usage.output_tokens'], a['output_tokens'])),
        event IN ('output', 'child_done', 'completion_consumed'), toUInt64OrZero(a['subagent.output_tokens']),
        0
    ) AS tokens,
    toUInt64OrZero(a['subagent.producer.keepalive_ms']) AS keepalive_ms,
    toUInt64OrZero(a['subagent.producer.export_interval_ms']) AS export_interval_ms,
    a AS attributes
FROM
(
    SELECT
        SpanAttributes AS a, ServiceName, SpanName, SpanId, ParentSpanId, StatusCode,
        toUnixTimestamp64Nano(Timestamp) AS started,
        started + if(Duration < 31622400000000000, toInt64(Duration), 0) AS finished,
        toInt64OrZero(ResourceAttributes['headcount.received_unix_nano']) AS stamped,
        multiIf(
            a['subagent.event'] != '', 'lifecycle',
            SpanName = 'claude_code.llm_request' AND a['agent_id'] != '', 'request',
            SpanName = 'claude_code.tool' AND a['agent_id'] != '', 'tool',
            a['subagent.run.id'] = '', '',
            a['gen_ai.operation.name'] = 'execute_tool', 'tool',
            a['gen_ai.operation.name'] IN ('chat', 'generate_content', 'text_completion'), 'request',
            a['gen_ai.operation.name'] = 'invoke_agent', 'agent',
            'other'
        ) AS kind,
        if(a['subagent.run.id'] != '', a['subagent.run.id'], if(kind = 'lifecycle', '', a['agent_id'])) AS named,
        multiIf(
            a['gen_ai.response.time_to_first_chunk'] != '',
                toInt64(least(86400., greatest(0., ifNotFinite(toFloat64OrZero(a['gen_ai.response.time_to_first_chunk']), 0.))) * 1e9),
            a['ttft_ms'] != '',
                toInt64(least(86400., greatest(0., ifNotFinite(toFloat64OrZero(a['ttft_ms']), 0.) / 1e3)) * 1e9),
            -1
        ) AS first_token_after,
        arrayJoin(CAST(multiIf(
            kind = 'lifecycle' AND startsWith(SpanName, 'invoke_agent') AND finished > started
                AND a['subagent.phase'] != 'pending' AND a['subagent.event'] IN ('start', 'child_done'),
                [('start', '', started), ('child_done', '', finished)],
            kind = 'lifecycle',
                [(a['subagent.event'], a['subagent.phase'], if(a['subagent.phase'] = 'pending', started, finished))],
            kind = 'tool', [('tool_call', 'ended', finished)],
            kind = 'request' AND first_token_after >= 0,
                [('model_request', 'ended', finished), ('first_token', '', started + first_token_after)],
            kind = 'request', [('model_request', 'ended', finished)],
            kind = 'agent', [('start', '', started), ('child_done', '', finished)],
            [('activity', '', finished)]
        ), 'Array(Tuple(String, String, Int64))')) AS said
    FROM otel_traces
    WHERE SpanAttributes['subagent.event'] != ''
        OR SpanAttributes['subagent.run.id'] != ''
        OR (SpanName IN ('claude_code.llm_request', 'claude_code.tool') AND SpanAttributes['agent_id'] != '')
)
WHERE run_id != '' OR startsWith(event, 'owner_') OR event IN ('child_gone', 'dismiss')
