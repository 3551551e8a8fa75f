-- Narrows a table with sessions to the environments that the variable chooses.
AND $__conditionalAll(session_id IN (SELECT session_id FROM session_environment FINAL WHERE environment IN (${environment:singlequote})), $environment)
