-- One row is one OTLP message, of however many requests: it is unfolded on the way and never kept. The columns are
-- named by their path in otlp_request.proto; each `repeated` on the path is one Array.
CREATE TABLE IF NOT EXISTS otlp_request
(
    received_unix_nano UInt64,
    `resource_spans.resource.attributes` Array(Array(Tuple(key String, value Tuple(
        string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
        double_value Nullable(Float64), bytes_value Nullable(String))))),
    `resource_spans.scope_spans.scope.name` Array(Array(String)),
    `resource_spans.scope_spans.scope.version` Array(Array(String)),
    `resource_spans.scope_spans.spans.trace_id` Array(Array(Array(String))),
    `resource_spans.scope_spans.spans.span_id` Array(Array(Array(String))),
    `resource_spans.scope_spans.spans.trace_state` Array(Array(Array(String))),
    `resource_spans.scope_spans.spans.parent_span_id` Array(Array(Array(String))),
    `resource_spans.scope_spans.spans.name` Array(Array(Array(LowCardinality(String)))),
    `resource_spans.scope_spans.spans.kind` Array(Array(Array(Int32))),
    `resource_spans.scope_spans.spans.start_time_unix_nano` Array(Array(Array(Int64))),
    `resource_spans.scope_spans.spans.end_time_unix_nano` Array(Array(Array(Int64))),
    `resource_spans.scope_spans.spans.attributes` Array(Array(Array(Array(Tuple(key String, value Tuple(
        string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
        double_value Nullable(Float64), bytes_value Nullable(String),
        array_value Array(Tuple(values Array(Tuple(
            string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
            double_value Nullable(Float64), bytes_value Nullable(String))))),
        kvlist_value Array(Tuple(values Array(Tuple(key String, value Tuple(
            string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
            double_value Nullable(Float64), bytes_value Nullable(String)))))))))))),
    `resource_spans.scope_spans.spans.events.time_unix_nano` Array(Array(Array(Array(Int64)))),
    `resource_spans.scope_spans.spans.events.name` Array(Array(Array(Array(LowCardinality(String))))),
    `resource_spans.scope_spans.spans.events.attributes` Array(Array(Array(Array(Array(Tuple(key String, value Tuple(
        string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
        double_value Nullable(Float64), bytes_value Nullable(String)))))))),
    `resource_spans.scope_spans.spans.links.trace_id` Array(Array(Array(Array(String)))),
    `resource_spans.scope_spans.spans.links.span_id` Array(Array(Array(Array(String)))),
    `resource_spans.scope_spans.spans.links.trace_state` Array(Array(Array(Array(String)))),
    `resource_spans.scope_spans.spans.links.attributes` Array(Array(Array(Array(Array(Tuple(key String, value Tuple(
        string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64),
        double_value Nullable(Float64), bytes_value Nullable(String)))))))),
    `resource_spans.scope_spans.spans.status.message` Array(Array(Array(String))),
    `resource_spans.scope_spans.spans.status.code` Array(Array(Array(Int32)))
)
ENGINE = Null;
