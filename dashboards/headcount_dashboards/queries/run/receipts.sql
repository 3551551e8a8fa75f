SELECT tupleElement(line, 1) AS receipt, if(tupleElement(line, 2) = '', 'missing', tupleElement(line, 2)) AS value
FROM
(
    SELECT
        JSONExtractRaw(document, 'receipts') AS receipts,
        [
            ('runId', JSONExtractString(receipts, 'runId')),
            ('childSessionKey', JSONExtractString(receipts, 'childSessionKey')),
            ('dispatchAt', JSONExtractString(receipts, 'dispatchAt')),
            ('expectedBy', JSONExtractString(receipts, 'expectedBy')),
            ('completionReceivedAt', JSONExtractString(receipts, 'completionReceivedAt')),
            ('forwardedToMain', multiIf(
                JSONType(receipts, 'forwardedToMain') != 'Bool', '',
                JSONExtractBool(receipts, 'forwardedToMain'), 'true',
                'false')),
            ('resultSource', JSONExtractString(receipts, 'resultSource'))
        ] AS lines
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
ARRAY JOIN lines AS line
