-- What a trial's agent did, as far as its trajectory says; NULL is unknown. Workers fill in what was recorded before.
ALTER TABLE trials
  ADD COLUMN total_tool_calls  integer,
  ADD COLUMN tool_counts       jsonb,
  ADD COLUMN duration_seconds  double precision;

-- Trials that count, by version, with what lists of tasks look at: so that these need not read the rows themselves.
-- The stage is left out, for it changes while a trial runs.
CREATE INDEX trials_browsed ON trials (org_id, task_id, task_version)
  INCLUDE (status, agent, model, provider, environment, origin, experiment_id, attempts, reward, input_tokens,
    output_tokens, total_steps, total_tool_calls, duration_seconds, cost_usd, cost_is_estimated, has_trajectory,
    started_at, finished_at)
  WHERE deleted_at IS NULL AND superseded_by_trial_id IS NULL AND is_probe IS FALSE;

CREATE INDEX trials_tools ON trials USING gin (tool_counts)
  WHERE deleted_at IS NULL AND superseded_by_trial_id IS NULL AND is_probe IS FALSE;

-- The few of which something is true that the index above does not have.
CREATE INDEX trials_erred ON trials (org_id, task_id, task_version)
  WHERE error_message IS NOT NULL AND deleted_at IS NULL AND superseded_by_trial_id IS NULL AND is_probe IS FALSE;
CREATE INDEX trials_probing ON trials (org_id, task_id, task_version)
  WHERE is_probe IS TRUE AND deleted_at IS NULL AND superseded_by_trial_id IS NULL;
CREATE INDEX trials_of_other_harbors ON trials ((harbor_config ->> 'sha'), task_id)
  WHERE harbor_config ->> 'sha' IS NOT NULL;

-- Those whose trajectory has not been counted.
CREATE INDEX trials_uncounted ON trials (id) WHERE has_trajectory AND total_tool_calls IS NULL;
