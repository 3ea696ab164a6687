-- The engine's own id of a trial that was run elsewhere: importing it twice into an experiment makes one trial.
ALTER TABLE trials ADD COLUMN external_trial_id text;
CREATE UNIQUE INDEX trials_imported ON trials (experiment_id, external_trial_id)
  WHERE external_trial_id IS NOT NULL AND deleted_at IS NULL;

-- The trials that a gate judges by. Those that nobody verifies measure nothing, those that were run elsewhere were not run
-- as the others of the submission are.
CREATE OR REPLACE FUNCTION baselines(version text, experiment text) RETURNS SETOF trials LANGUAGE sql STABLE AS $$
  SELECT * FROM trials
  WHERE task_version_id = version AND experiment_id = experiment AND agent IN ('nop', 'oracle') AND origin = 'oddish'
    AND deleted_at IS NULL AND superseded_by_trial_id IS NULL AND NOT is_probe
    AND harbor_config #>> '{verifier,disable}' IS DISTINCT FROM 'true'
$$;
