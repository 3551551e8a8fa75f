SELECT
    countIf(status = 'suspect_delivery_failure') AS runs,
    maxOrNullIf(dateDiff('second', since, now64(3)), status = 'suspect_delivery_failure') AS oldest
FROM verdict FINAL
WHERE is_abnormal
    {{ of_kind }}
