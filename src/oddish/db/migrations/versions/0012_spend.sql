-- What ended attempts have spent, added up by the hour in which they ended; those of trials that were run here. An attempt
-- is counted in both tables or in none, and says so itself: what has not been added up yet is read from attempts.
CREATE TABLE spend_hours (
  org_id              text NOT NULL REFERENCES organisations (id),
  hour                timestamptz NOT NULL,
  user_id             text NOT NULL REFERENCES users (id),
  experiment_id       text NOT NULL REFERENCES experiments (id),
  agent               text NOT NULL,
  provider            text NOT NULL,
  model               text,
  attempts            bigint NOT NULL,
  trials              bigint NOT NULL,
  input_tokens        double precision NOT NULL,
  cache_tokens        double precision NOT NULL,
  cache_write_tokens  double precision NOT NULL,
  output_tokens       double precision NOT NULL,
  cost_usd            double precision NOT NULL,
  estimated_cost_usd  double precision NOT NULL,
  unpriced            bigint NOT NULL,
  unreported          bigint NOT NULL,
  UNIQUE NULLS NOT DISTINCT (org_id, hour, user_id, experiment_id, agent, provider, model)
);

-- The same by task instead.
CREATE TABLE spend_task_hours (
  org_id              text NOT NULL REFERENCES organisations (id),
  user_id             text NOT NULL REFERENCES users (id),
  hour                timestamptz NOT NULL,
  task_id             text NOT NULL REFERENCES tasks (id),
  attempts            bigint NOT NULL,
  trials              bigint NOT NULL,
  input_tokens        double precision NOT NULL,
  cache_tokens        double precision NOT NULL,
  cache_write_tokens  double precision NOT NULL,
  output_tokens       double precision NOT NULL,
  cost_usd            double precision NOT NULL,
  estimated_cost_usd  double precision NOT NULL,
  unpriced            bigint NOT NULL,
  unreported          bigint NOT NULL,
  PRIMARY KEY (org_id, user_id, hour, task_id)
);

ALTER TABLE attempts ADD COLUMN spend_folded boolean NOT NULL DEFAULT false;
-- Of what changes while an attempt runs nothing is in here, so that such changes need not touch it.
CREATE INDEX attempts_unfolded ON attempts (org_id) WHERE NOT spend_folded;
