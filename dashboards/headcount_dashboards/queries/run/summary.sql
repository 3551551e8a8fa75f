SELECT tupleElement(line, 1) AS what, tupleElement(line, 2) AS value
FROM
(
    SELECT [
        ('status', toString(status)),
        ('class', concat(failure_class, if(leaning = '', '', concat(', leaning ', leaning)))),
        ('severity', toString(severity)),
        ('agent', toString(agent)),
        ('service', toString(service)),
        ('mode', toString(mode)),
        ('description', JSONExtractString(document, 'description')),
        ('owner', if(owner_id = '', 'root', owner_id)),
        ('session', session_id),
        ('parent run', parent_run_id),
        ('child sessions', arrayStringConcat(JSONExtract(document, 'child_sessions', 'Array(String)'), ', ')),
        ('also known as', arrayStringConcat(arrayFilter(name -> name != run_id, names), ', ')),
        ('outcome', toString(outcome)),
        ('quality', JSONExtractString(document, 'quality')),
        ('result lies at', JSONExtractString(document, 'result_location')),
        ('tool calls', toString(JSONExtractUInt(document, 'tool_calls'))),
        ('output tokens', toString(JSONExtractUInt(document, 'output_tokens')))
    ] AS lines
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
ARRAY JOIN lines AS line
WHERE tupleElement(line, 2) != ''
