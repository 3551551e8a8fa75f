-- What people were told, wherever it was.
{{ incident_marks }}
ORDER BY time DESC
LIMIT 200
