-- Unfolds a message into spans with the exporter's columns, one level of arrays at a time, so that what is said once
-- a resource is worked out once. It is total: whatever stands in a message, nothing here may throw, or one bad value
-- would refuse its neighbours. Attributes known to carry prompts or results are dropped (store/content.py has them).
CREATE MATERIALIZED VIEW IF NOT EXISTS otel_traces_mv TO otel_traces AS
WITH
    s -> coalesce(
        s.string_value, toString(s.bool_value), toString(s.int_value), toString(s.double_value),
        base64Encode(s.bytes_value), '') AS scalar_text,
    s -> coalesce(
        toJSONString(s.string_value), toString(s.bool_value), toString(s.int_value), toJSONString(s.double_value),
        concat('"', base64Encode(s.bytes_value), '"'), 'null') AS scalar_json,
    v -> multiIf(
        notEmpty(v.array_value),
        concat('[', arrayStringConcat(arrayMap(e -> scalar_json(e), v.array_value[1].values), ','), ']'),
        notEmpty(v.kvlist_value),
        concat('{', arrayStringConcat(
            arrayMap(p -> concat(toJSONString(p.key), ':', scalar_json(p.value)), v.kvlist_value[1].values), ','), '}'),
        scalar_text(v)) AS value_text,
    attributes -> arrayFilter(a -> NOT match(a.key, '$content_attributes'), attributes) AS kept,
    attributes -> CAST(
        arrayMap(a -> (a.key, value_text(a.value)), kept(attributes)), 'Map(LowCardinality(String), String)'
    ) AS attribute_map,
    attributes -> CAST(
        arrayMap(a -> (a.key, scalar_text(a.value)), kept(attributes)), 'Map(LowCardinality(String), String)'
    ) AS scalar_map
SELECT
    fromUnixTimestamp64Nano(`resource_spans.scope_spans.spans.start_time_unix_nano`) AS Timestamp,
    lower(hex(`resource_spans.scope_spans.spans.trace_id`)) AS TraceId,
    lower(hex(`resource_spans.scope_spans.spans.span_id`)) AS SpanId,
    replaceOne(lower(hex(`resource_spans.scope_spans.spans.parent_span_id`)), '0000000000000000', '') AS ParentSpanId,
    `resource_spans.scope_spans.spans.trace_state` AS TraceState,
    `resource_spans.scope_spans.spans.name` AS SpanName,
    transform(
        `resource_spans.scope_spans.spans.kind`,
        [1, 2, 3, 4, 5], ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], 'Unspecified') AS SpanKind,
    resource['service.name'] AS ServiceName,
    resource AS ResourceAttributes,
    `resource_spans.scope_spans.scope.name` AS ScopeName,
    `resource_spans.scope_spans.scope.version` AS ScopeVersion,
    attribute_map(`resource_spans.scope_spans.spans.attributes`) AS SpanAttributes,
    greatest(
        `resource_spans.scope_spans.spans.end_time_unix_nano`
            - `resource_spans.scope_spans.spans.start_time_unix_nano`, 0) AS Duration,
    transform(`resource_spans.scope_spans.spans.status.code`, [1, 2], ['Ok', 'Error'], 'Unset') AS StatusCode,
    `resource_spans.scope_spans.spans.status.message` AS StatusMessage,
    arrayMap(t -> fromUnixTimestamp64Nano(t), `resource_spans.scope_spans.spans.events.time_unix_nano`)
        AS `Events.Timestamp`,
    `resource_spans.scope_spans.spans.events.name` AS `Events.Name`,
    arrayMap(a -> scalar_map(a), `resource_spans.scope_spans.spans.events.attributes`) AS `Events.Attributes`,
    arrayMap(id -> lower(hex(id)), `resource_spans.scope_spans.spans.links.trace_id`) AS `Links.TraceId`,
    arrayMap(id -> lower(hex(id)), `resource_spans.scope_spans.spans.links.span_id`) AS `Links.SpanId`,
    `resource_spans.scope_spans.spans.links.trace_state` AS `Links.TraceState`,
    arrayMap(a -> scalar_map(a), `resource_spans.scope_spans.spans.links.attributes`) AS `Links.Attributes`
FROM
(
    SELECT *
    FROM
    (
        SELECT
            * EXCEPT `resource_spans.resource.attributes`,
            mapConcat(
                scalar_map(`resource_spans.resource.attributes`),
                CAST(
                    map('headcount.received_unix_nano', toString(received_unix_nano)),
                    'Map(LowCardinality(String), String)')) AS resource
        FROM otlp_request
        ARRAY JOIN COLUMNS('^resource_spans[.]')
    )
    ARRAY JOIN COLUMNS('[.]scope_spans[.]')
)
ARRAY JOIN COLUMNS('[.]spans[.]');
