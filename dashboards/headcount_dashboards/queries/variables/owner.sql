SELECT DISTINCT if(owner_id = '', 'root', owner_id) AS owner
FROM verdict FINAL
WHERE session_id = ${session:singlequote}
ORDER BY owner
LIMIT 500
