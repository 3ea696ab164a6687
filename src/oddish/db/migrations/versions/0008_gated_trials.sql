-- The submission asked for the baseline gate, and the trial is none of oracle or nop.
ALTER TABLE trials ADD COLUMN gated boolean NOT NULL DEFAULT false;
UPDATE trials SET gated = true WHERE status = 'skipped';
