-- The sessions that owe something come first, the latest of them before the others.
SELECT session_id
FROM
(
    SELECT session_id, max(is_abnormal) AS unwell, max(since) AS latest
    FROM verdict FINAL
    WHERE is_open
        {{ of_environment }}
    GROUP BY session_id
    ORDER BY unwell DESC, latest DESC
    LIMIT 200
    UNION ALL
    SELECT session_id, false AS unwell, max(believed_at) AS latest
    FROM transition
    WHERE $__timeFilter(believed_at)
        {{ of_environment }}
    GROUP BY session_id
    ORDER BY latest DESC
    LIMIT 200
)
GROUP BY session_id
ORDER BY max(unwell) DESC, max(latest) DESC
