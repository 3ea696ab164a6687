-- Names and values of tags: tags ? 'name', tags @> '{"name": "value"}'.
CREATE INDEX tasks_tags ON tasks USING gin (tags) WHERE deleted_at IS NULL;

-- A column of a constraint might be referred to, so changing it would wait for every submission to the experiment, whose
-- new trials refer to its row, and they for it. A partial index is out of the question for that.
ALTER TABLE experiments DROP CONSTRAINT experiments_public_token_key;
CREATE UNIQUE INDEX experiments_public ON experiments (public_token) WHERE public_token IS NOT NULL;
