-- Whether a commit told one of the rare events of a run: if not, what is known of these still holds. Of what was
-- written before it is not known.
ALTER TABLE touched ADD COLUMN IF NOT EXISTS rare Bool DEFAULT true
