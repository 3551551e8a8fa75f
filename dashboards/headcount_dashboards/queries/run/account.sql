SELECT tupleElement(one, 1) AS part, tupleElement(one, 2) AS seconds
FROM
(
    SELECT arrayConcat(
        [('working', JSONExtractFloat(document, 'account', 'working_s'))],
        arrayMap(
            spent -> (concat('waiting: ', tupleElement(spent, 1)), tupleElement(spent, 2)),
            JSONExtractKeysAndValues(document, 'account', 'waiting_s', 'Float64')),
        [
            ('idle', JSONExtractFloat(document, 'account', 'idle_s')),
            ('on its way back', JSONExtractFloat(document, 'account', 'delivery_s'))
        ]) AS parts
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
ARRAY JOIN parts AS one
WHERE tupleElement(one, 2) > 0
