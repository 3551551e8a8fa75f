-- Of the document, so that no list has to read it. `urgency`: 0 page, 1 warn, 2 info, 3 nothing, of class and open signals;
-- quotes within values are escaped in the document, so that no text of a sender can look like its keys.
ALTER TABLE verdict
    ADD COLUMN IF NOT EXISTS urgency UInt8 DEFAULT multiIf(
        position(document, '"severity":"page"') > 0, 0,
        position(document, '"severity":"warn"') > 0, 1,
        position(document, '"severity":"info"') > 0, 2,
        3),
    ADD COLUMN IF NOT EXISTS child_sessions Array(String) DEFAULT JSONExtract(document, 'child_sessions', 'Array(String)'),
    ADD COLUMN IF NOT EXISTS description String DEFAULT JSONExtractString(document, 'description') CODEC(ZSTD(1))
