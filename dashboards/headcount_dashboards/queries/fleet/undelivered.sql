SELECT
    countIf(status = 'done_but_not_forwarded') AS runs,
    maxOrNullIf(dateDiff('second', since, now64(3)), status = 'done_but_not_forwarded') AS oldest
FROM verdict FINAL
WHERE is_abnormal
    {{ of_kind }}
