SELECT
    countIf(status = 'blocked') AS runs,
    maxOrNullIf(dateDiff('second', since, now64(3)), status = 'blocked') AS oldest
FROM verdict FINAL
WHERE is_abnormal
    {{ of_kind }}
