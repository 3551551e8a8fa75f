-- Runs that were settled in the time and have an account.
WHERE NOT is_open
    AND $__timeFilter(since)
    AND total_s > 0
    {{ of_kind }}
