-- A group with a gate waits for the trials of oracle and nop of one task version in one experiment. Its jobs are
-- released when all of these have come to what they should, and skipped otherwise.
ALTER TABLE job_groups
  ADD COLUMN gate_version_id text REFERENCES task_versions (id),
  ADD COLUMN gate_experiment_id text REFERENCES experiments (id),
  ADD CHECK ((gate_version_id IS NULL) = (gate_experiment_id IS NULL));
CREATE INDEX job_groups_gate ON job_groups (gate_version_id, gate_experiment_id) WHERE gate_version_id IS NOT NULL;

-- skipped: ended without having run
ALTER TABLE jobs DROP CONSTRAINT jobs_state_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_state_check
  CHECK (state IN ('held', 'ready', 'scheduled', 'running', 'done', 'failed', 'cancelled', 'skipped'));

CREATE INDEX trials_baselines ON trials (task_version_id, experiment_id)
  WHERE agent IN ('nop', 'oracle') AND deleted_at IS NULL AND superseded_by_trial_id IS NULL;

-- The trials that a gate judges by. Those that nobody verifies measure nothing.
CREATE FUNCTION baselines(version text, experiment text) RETURNS SETOF trials LANGUAGE sql STABLE AS $$
  SELECT * FROM trials
  WHERE task_version_id = version AND experiment_id = experiment AND agent IN ('nop', 'oracle')
    AND deleted_at IS NULL AND superseded_by_trial_id IS NULL AND NOT is_probe
    AND harbor_config #>> '{verifier,disable}' IS DISTINCT FROM 'true'
$$;

-- Whether a gate has to wait, and what speaks against opening it once it need not; NULL: nothing.
CREATE FUNCTION judge_gate(version text, experiment text, OUT waits boolean, OUT obstacle text)
LANGUAGE sql STABLE AS $$
  WITH judged AS (
    SELECT id, trial_index, agent, status IN ('queued', 'running', 'retrying') AS unfinished, CASE
      WHEN status <> 'success' AND harbor_stage = 'cancelled' THEN 'was cancelled'
      WHEN status <> 'success' THEN
        'failed' || coalesce(' (' || left(split_part(error_message, E'\n', 1), 200) || ')', '')
      WHEN reward IS NULL THEN 'has no reward'
      WHEN agent = 'oracle' AND (reward <= 0 OR reward = 'NaN') THEN 'earned ' || reward || ', not more than 0'
      WHEN agent = 'nop' AND reward <> 0 THEN 'earned ' || reward || ', not 0'
    END AS fault
    FROM baselines(version, experiment)
  ), first AS (
    SELECT id, agent, fault FROM judged WHERE fault IS NOT NULL ORDER BY trial_index LIMIT 1
  ), counted AS (
    SELECT count(*) AS baselines, count(fault) AS faults, coalesce(bool_or(unfinished), false) AS unfinished FROM judged
  )
  SELECT unfinished, CASE
    WHEN unfinished THEN NULL
    WHEN baselines = 0 THEN 'Not run: no trial of oracle or nop is left that could vouch for the task'
    WHEN faults > 0 THEN 'Not run: ' || first.id || ' of ' || agent || ' ' || fault
      || CASE WHEN faults > 1 THEN '; ' || (faults - 1) || ' more of oracle and nop did not come to what they should'
         ELSE '' END
  END FROM counted LEFT JOIN first ON true
$$;

-- Releases held jobs of a group up to its limit, the oldest first, once the group it comes after has ended and its gate
-- is open; skips them when the gate stays closed. A job that waits for its time keeps its place. Jobs that somebody
-- else has locked are left to them.
CREATE OR REPLACE FUNCTION release_group(wanted text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE g job_groups; gate record; places integer; changed integer;
BEGIN
  SELECT * INTO g FROM job_groups WHERE id = wanted FOR NO KEY UPDATE;
  IF g.after IS NOT NULL AND EXISTS (
    SELECT FROM jobs WHERE group_id = g.after AND state IN ('held', 'ready', 'scheduled', 'running')
  ) THEN
    RETURN 0;
  END IF;
  IF g.gate_version_id IS NOT NULL THEN
    IF NOT EXISTS (SELECT FROM jobs WHERE group_id = g.id AND state = 'held') THEN
      RETURN 0;
    END IF;
    SELECT * INTO gate FROM judge_gate(g.gate_version_id, g.gate_experiment_id);
    IF gate.waits THEN
      RETURN 0;
    ELSIF gate.obstacle IS NOT NULL THEN
      WITH next AS (
        SELECT id FROM jobs WHERE group_id = g.id AND state = 'held' ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
      )
      UPDATE jobs SET state = 'skipped', error = gate.obstacle, finished_at = clock_timestamp()
      FROM next WHERE jobs.id = next.id;
      GET DIAGNOSTICS changed = ROW_COUNT;
      RETURN changed;
    END IF;
  END IF;
  IF g.max_running IS NOT NULL THEN
    SELECT g.max_running - count(*) INTO places FROM jobs
    WHERE group_id = g.id AND state IN ('ready', 'scheduled', 'running');
  END IF;
  WITH next AS (
    SELECT id FROM jobs WHERE group_id = g.id AND state = 'held' ORDER BY id
    LIMIT CASE WHEN g.max_running IS NULL THEN NULL ELSE greatest(places, 0) END FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE jobs SET state = 'ready', ready_at = clock_timestamp() FROM next WHERE jobs.id = next.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed > 0 THEN
    PERFORM pg_notify('oddish_jobs', '');
  END IF;
  RETURN changed;
END $$;

-- A job that ends makes room in its group, the last one of a group lets the groups after it begin, and the last trial
-- of oracle and nop decides the gates that wait for them.
CREATE OR REPLACE FUNCTION release_groups() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ended text; judges text[];
BEGIN
  FOR ended IN
    SELECT DISTINCT now_.group_id FROM after now_ JOIN before was USING (id)
    WHERE now_.group_id IS NOT NULL AND now_.state IN ('done', 'failed', 'cancelled', 'skipped')
      AND was.state NOT IN ('done', 'failed', 'cancelled', 'skipped')
    ORDER BY 1
  LOOP
    PERFORM release_group(ended);
    PERFORM release_group(id) FROM (
      SELECT id FROM job_groups WHERE after = ended AND NOT EXISTS (
        SELECT FROM jobs WHERE group_id = ended AND state IN ('held', 'ready', 'scheduled', 'running')
      ) ORDER BY id
    ) waiting;
  END LOOP;
  SELECT array_agg(now_.subject_id) INTO judges FROM after now_ JOIN before was USING (id)
  WHERE now_.kind = 'trial' AND now_.key = 'nop_oracle' AND now_.state IN ('done', 'failed', 'cancelled', 'skipped')
    AND was.state NOT IN ('done', 'failed', 'cancelled', 'skipped');
  IF judges IS NOT NULL THEN
    PERFORM release_group(id) FROM (
      SELECT DISTINCT g.id FROM trials t
      JOIN job_groups g ON g.gate_version_id = t.task_version_id AND g.gate_experiment_id = t.experiment_id
      WHERE t.id = ANY (judges) ORDER BY g.id
    ) gated;
  END IF;
  RETURN NULL;
END $$;

-- The only writer of a trial's status, attempts and times.
CREATE OR REPLACE FUNCTION project_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE trials SET
    status = CASE
      WHEN NEW.state = 'running' THEN 'running'
      WHEN NEW.state = 'done' THEN 'success'
      WHEN NEW.state IN ('failed', 'cancelled') THEN 'failed'
      WHEN NEW.state = 'skipped' THEN 'skipped'
      WHEN NEW.epoch > 0 THEN 'retrying'
      ELSE 'queued' END,
    attempts = NEW.attempt,
    started_at = coalesce(started_at, NEW.started_at),
    finished_at = NEW.finished_at,
    harbor_stage = CASE
      WHEN NEW.state = 'cancelled' THEN 'cancelled'
      WHEN NEW.state = 'running' THEN 'trial_started'
      WHEN NEW.state IN ('held', 'ready', 'scheduled') THEN NULL
      ELSE harbor_stage END,
    reasons = CASE WHEN NEW.state = 'skipped' THEN '["baseline_gate"]' ELSE reasons END,
    error_message = CASE WHEN NEW.state IN ('failed', 'cancelled', 'skipped')
      THEN coalesce(NEW.error, error_message) ELSE error_message END
  WHERE id = NEW.subject_id;
  RETURN NULL;
END $$;
