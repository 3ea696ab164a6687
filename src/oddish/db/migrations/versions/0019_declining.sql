-- Why the worker claims nothing, though it may have a free place; null while it claims.
ALTER TABLE workers ADD COLUMN declines text;
