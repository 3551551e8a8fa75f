-- The environment of a session, as far as its spans say one.
LEFT JOIN (SELECT session_id, environment FROM session_environment FINAL) AS environments USING (session_id)
