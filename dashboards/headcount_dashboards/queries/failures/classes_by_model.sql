-- By the model that the child was seen to use, or was asked to.
SELECT if(model = '', 'not known', toString(model)) AS "model name", class, count() AS runs
FROM
(
    {{ called_wrong }}
) AS called
INNER JOIN
(
    {{ now_of_called }}
) AS now USING (session_id, run_id)
GROUP BY "model name", class
ORDER BY runs DESC, "model name", class
LIMIT 50
