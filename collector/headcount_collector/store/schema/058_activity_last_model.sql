-- The model that answered last: its moment in twenty digits, a blank, and its name.
ALTER TABLE activity ADD COLUMN IF NOT EXISTS last_model SimpleAggregateFunction(max, String)
