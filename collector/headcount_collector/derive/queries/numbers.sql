-- Which numbers of a block came, and when.
SELECT producer, minMapMerge(numbers) AS moments
FROM producer
WHERE producer IN {producers:Array(String)}
    AND (producer, block) IN arrayZip({key_producers:Array(String)}, {key_blocks:Array(UInt64)})
GROUP BY producer
