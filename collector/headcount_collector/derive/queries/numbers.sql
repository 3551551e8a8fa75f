-- Which numbers of a block came, and when.
SELECT producer, minMapMerge(p.moments) AS moments
FROM producer AS p
WHERE producer IN {producers:Array(String)}
    AND (producer, block) IN arrayZip({key_producers:Array(String)}, {key_blocks:Array(UInt64)})
GROUP BY producer
