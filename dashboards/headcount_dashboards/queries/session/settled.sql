-- Foreground calls do not count in a group.
SELECT multiIf(
    countIf(mode != 'foreground') = 0, 'nothing was dispatched',
    countIf(v.remaining) > 0, 'not all ended',
    countIf(v.undelivered) > 0, 'all ended, not all delivered',
    'all ended and delivered') AS state
FROM verdict AS v FINAL
{{ of_owner }}
