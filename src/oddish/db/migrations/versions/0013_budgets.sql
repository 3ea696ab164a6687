-- What the trials of a run may cost together. Whatever changes the cost of an attempt changes spent_usd with it; when that
-- reaches the limit, exceeded_at is set, and stopped_at once none of the trials can start any more.
-- Locked after attempts; who holds one waits for no job.
CREATE TABLE budgets (
  org_id       text NOT NULL REFERENCES organisations (id),
  id           text NOT NULL,
  limit_usd    double precision NOT NULL CHECK (limit_usd > 0),
  spent_usd    double precision NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT now(),
  exceeded_at  timestamptz,
  stopped_at   timestamptz,
  PRIMARY KEY (org_id, id)
) WITH (fillfactor = 50);
CREATE INDEX budgets_exceeded ON budgets (exceeded_at) WHERE exceeded_at IS NOT NULL AND stopped_at IS NULL;

ALTER TABLE trials ADD COLUMN budget_id text;
ALTER TABLE trials ADD FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id) NOT VALID;
CREATE INDEX trials_budgeted ON trials (org_id, budget_id) WHERE budget_id IS NOT NULL;
