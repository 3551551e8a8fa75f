SELECT
    countIf(v.remaining) AS remaining,
    countIf(v.undelivered) AS undelivered,
    countIf(is_abnormal) AS "not well"
FROM verdict AS v FINAL
{{ of_owner }}
