SELECT name AS table, total_rows AS rows, total_bytes AS bytes
FROM system.tables
WHERE database = currentDatabase() AND total_bytes > 0
ORDER BY bytes DESC, table
