SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, count() AS parts
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
ORDER BY bytes DESC, table
