-- What people were told, in the chosen environments.
{{ incident_marks }}
    {{ of_environment }}
ORDER BY time DESC
LIMIT 200
