-- From the opening to the end. one that is still open has no end yet.
SELECT
    opened_at AS time,
    if(is_open, NULL, closed_at) AS timeEnd,
    concat('incident ', incident_id, if(is_open, ', open', ', closed')) AS title,
    concat(
        toString(length(runs)), if(length(runs) = 1, ' run of ', ' runs of '),
        if(owner_id = '', 'the root owner', owner_id),
        if(session_id = '', '', concat(' in session ', session_id)), ', ', level) AS text,
    toString(severity) AS tags
FROM incident FINAL
WHERE opened_at <= $__toTime AND (is_open OR closed_at >= $__fromTime)
