SELECT 1 AS placeholder
