-- Narrows a table with session and owner to what the variables choose.
WHERE session_id = ${session:singlequote}
    AND $__conditionalAll(if(owner_id = '', 'root', owner_id) IN (${owner:singlequote}), $owner)
