-- Why the verdict is what it is, what is in flight, what is open beside it, and what would change it.
SELECT tupleElement(line, 1) AS about, tupleElement(line, 2) AS said
FROM
(
    SELECT arrayConcat(
        arrayMap(said -> ('why', said), JSONExtract(document, 'evidence', 'Array(String)')),
        arrayMap(said -> ('in flight', said), JSONExtract(document, 'in_flight', 'Array(String)')),
        arrayMap(
            opened -> ('signal', concat(tupleElement(opened, 1), ', ', tupleElement(opened, 3), ': ', tupleElement(opened, 4))),
            JSONExtract(document, 'signals', 'Array(Tuple(name String, since String, severity String, evidence String))')),
        arrayMap(said -> ('missing, would change it', said), JSONExtract(document, 'would_change', 'Array(String)'))
    ) AS lines
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
ARRAY JOIN lines AS line
