-- The id under which the request that made a trial is found in logs and traces; null for what is older, and for imports.
ALTER TABLE trials ADD COLUMN correlation_id text;
ALTER TABLE trials ADD CHECK (length(correlation_id) <= 128) NOT VALID;
