-- What people were told of the chosen session.
{{ incident_marks }}
    AND session_id = ${session:singlequote}
ORDER BY time DESC
LIMIT 200
