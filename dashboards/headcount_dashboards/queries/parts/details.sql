-- What a message says beside its labels. It changes while an alert holds, so it is no label of the alert's own.
LEFT JOIN
(
    SELECT
        session_id, run_id, dispatched_at, last_progress_at,
        JSONExtractString(document, 'description') AS task,
        if(last_progress_at > toDateTime64(0, 9), 'yes', '') AS progressed,
        arrayStringConcat(JSONExtract(document, 'in_flight', 'Array(String)'), ', ') AS in_flight,
        JSONExtractString(document, 'result_location') AS result,
        if(result = '' AND ended_at <= toDateTime64(0, 9), '', concat(
            'headcount recover ''', replaceAll(run_id, '''', '''"''"'''), ''' --session ''',
            replaceAll(session_id, '''', '''"''"'''), '''')) AS recover
    FROM verdict FINAL
    WHERE (session_id, run_id) IN (SELECT session_id, run_id FROM wrong)
) AS details USING (session_id, run_id)
