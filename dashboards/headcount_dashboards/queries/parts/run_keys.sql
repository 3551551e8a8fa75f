-- The keys under which facts keep the chosen run: its id and its other names.
WITH keys AS
(
    SELECT arrayJoin(arrayMap(
        name -> halfMD5(concat(session_id, char(0), name)), arrayDistinct(arrayPushFront(names, run_id)))) AS run_key
    FROM verdict FINAL
    WHERE session_id = ${session:singlequote} AND run_id = ${run:singlequote}
)
