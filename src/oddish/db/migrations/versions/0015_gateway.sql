-- One POST to the gateway. The job that fetches its archive has the kind 'archive' and its id as subject; the trials that
-- come of it refer to it. Status and the times after created_at are written by the functions below only.
-- Locked after jobs and trials, before queue_keys; several by id.
CREATE TABLE gateway_jobs (
  id                         text PRIMARY KEY,
  org_id                     text NOT NULL REFERENCES organisations (id),
  created_by                 text NOT NULL REFERENCES users (id),
  kind                       text NOT NULL CHECK (kind IN ('execute', 'verify')),
  status                     text NOT NULL DEFAULT 'queued'
                             CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  task_slug                  text NOT NULL,
  -- as it was asked for, without what is secret in it; the secret is all of it
  request                    jsonb,
  secret_id                  text REFERENCES secrets (id) ON DELETE SET NULL,
  metadata                   jsonb NOT NULL DEFAULT '{}',
  agents                     jsonb NOT NULL DEFAULT '[]',
  pass_at_k                  integer NOT NULL DEFAULT 1 CHECK (pass_at_k >= 1),
  require_verifier_evidence  boolean NOT NULL,
  -- code and message: why no trials came of it
  error                      jsonb,
  correlation_id             text CHECK (length(correlation_id) <= 128),
  experiment_id              text REFERENCES experiments (id),
  task_version_id            text REFERENCES task_versions (id),
  retry_of                   text REFERENCES gateway_jobs (id),
  retried_exceptions         text[] NOT NULL DEFAULT '{}',
  idempotency_key            text,
  -- of the archive that a verification lays into /workspace
  workspace_key              text,
  last_event                 bigint NOT NULL DEFAULT 0,
  cancelled_at               timestamptz,
  created_at                 timestamptz NOT NULL DEFAULT now(),
  started_at                 timestamptz,
  finished_at                timestamptz
) WITH (fillfactor = 70);
CREATE INDEX gateway_jobs_recent ON gateway_jobs (org_id, created_at DESC, id DESC);
CREATE INDEX gateway_jobs_open ON gateway_jobs (org_id) WHERE status IN ('queued', 'running');

-- What happened to a job, counted from 1 without gaps: whoever has seen number n has missed none before it.
CREATE TABLE gateway_events (
  job_id      text NOT NULL REFERENCES gateway_jobs (id) ON DELETE CASCADE,
  seq         bigint NOT NULL,
  event       text NOT NULL,
  data        jsonb NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, seq)
);

ALTER TABLE trials
  ADD COLUMN gateway_job_id  text,
  ADD COLUMN gateway_agent   text;
ALTER TABLE trials ADD FOREIGN KEY (gateway_job_id) REFERENCES gateway_jobs (id) NOT VALID;
CREATE INDEX trials_of_gateway ON trials (gateway_job_id, trial_index) WHERE gateway_job_id IS NOT NULL;

-- gateway: made by one of its jobs, for that job alone
ALTER TABLE experiments ADD COLUMN kind text NOT NULL DEFAULT 'experiment';
ALTER TABLE experiments ADD CHECK (kind IN ('experiment', 'gateway')) NOT VALID;

-- Adds an event to a job, in the order in which the transactions that do so commit.
CREATE FUNCTION announce_gateway(job text, event text, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE number bigint;
BEGIN
  UPDATE gateway_jobs SET last_event = last_event + 1 WHERE id = job RETURNING last_event INTO number;
  INSERT INTO gateway_events (job_id, seq, event, data) VALUES (job, number, event, data);
  PERFORM pg_notify('oddish_gateway', job);
END $$;

CREATE FUNCTION announce_gateway_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM announce_gateway(NEW.id, 'job.queued', jsonb_build_object('job_id', NEW.id, 'status', NEW.status));
  RETURN NULL;
END $$;
CREATE TRIGGER gateway_jobs_announce AFTER INSERT ON gateway_jobs FOR EACH ROW EXECUTE FUNCTION announce_gateway_job();

CREATE FUNCTION announce_gateway_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM announce_gateway(NEW.gateway_job_id, 'trial.phase', jsonb_build_object(
    'job_id', NEW.gateway_job_id, 'trial_id', NEW.id, 'agent', NEW.gateway_agent, 'phase', NEW.harbor_stage));
  RETURN NULL;
END $$;
CREATE TRIGGER trials_gateway_phase AFTER UPDATE OF harbor_stage ON trials FOR EACH ROW
  WHEN (NEW.gateway_job_id IS NOT NULL AND OLD.status = 'running' AND NEW.status = 'running'
    AND NEW.harbor_stage IS DISTINCT FROM OLD.harbor_stage
    AND NEW.harbor_stage NOT IN ('completed', 'cancelled', 'image_build_failed'))
  EXECUTE FUNCTION announce_gateway_phase();

-- Whether a trial of the job came to a real result: a reward, and nothing raised; of a verification, an exit code. One of
-- them is enough for a job to have succeeded; what its rewards are worth is another question.
CREATE FUNCTION has_real_result(job text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM trials t JOIN attempts a ON a.trial_id = t.id AND a.epoch = t.decided_by_epoch
    WHERE t.gateway_job_id = job AND a.facts #> '{judged,rewards}' NOT IN ('null', '{}')
      AND a.facts #> '{judged,exceptions}' = '[]' AND a.facts #>> '{judged,cancelled}' = 'false'
      AND a.facts #>> '{judged,ending}' = 'done'
  ) OR EXISTS (
    SELECT FROM trials t JOIN gateway_jobs g ON g.id = t.gateway_job_id
    WHERE g.id = job AND g.kind = 'verify' AND t.result #> '{_verifier,exit_code}' <> 'null'
  )
$$;

CREATE FUNCTION end_gateway_job(job text, ended text, why jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway_jobs SET status = ended, error = coalesce(error, why), finished_at = clock_timestamp()
  WHERE id = job AND status IN ('queued', 'running');
  IF FOUND THEN
    PERFORM announce_gateway(job, 'job.finished', (
      SELECT jsonb_build_object('job_id', id, 'status', status, 'error', error) FROM gateway_jobs WHERE id = job));
  END IF;
END $$;

-- The only writer of a job's status: it is queued until its first trial runs, and over with the last one, or with an
-- archive that no trials came of. Jobs of the queue that change are looked at together, after their trials have changed.
CREATE FUNCTION follow_gateway() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d record; touched text[] := '{}'; job text;
BEGIN
  IF NOT EXISTS (SELECT FROM after WHERE lane LIKE 'gateway:%') THEN
    RETURN NULL;
  END IF;
  FOR d IN
    SELECT coalesce(t.gateway_job_id, now_.subject_id) AS job_id, now_.kind, now_.state, now_.epoch, now_.error,
      t.id AS trial_id, t.gateway_agent, t.status, t.reward
    FROM after now_ JOIN before was USING (id) LEFT JOIN trials t ON now_.kind = 'trial' AND t.id = now_.subject_id
    WHERE now_.state <> was.state AND now_.state IN ('running', 'done', 'failed', 'cancelled', 'skipped')
      AND (t.gateway_job_id IS NOT NULL OR now_.kind = 'archive')
    ORDER BY job_id, now_.id
  LOOP
    IF d.kind = 'archive' THEN
      IF d.state IN ('failed', 'cancelled') THEN
        PERFORM end_gateway_job(d.job_id, d.state,
          CASE d.state WHEN 'failed' THEN jsonb_build_object('code', 'archive_lost', 'message', d.error) END);
      END IF;
    ELSIF d.state = 'running' THEN
      UPDATE gateway_jobs SET status = 'running', started_at = clock_timestamp()
      WHERE id = d.job_id AND status = 'queued';
      PERFORM announce_gateway(d.job_id, 'trial.started', jsonb_build_object(
        'job_id', d.job_id, 'trial_id', d.trial_id, 'agent', d.gateway_agent, 'attempt', d.epoch));
    ELSE
      PERFORM announce_gateway(d.job_id, 'trial.finished', jsonb_build_object(
        'job_id', d.job_id, 'trial_id', d.trial_id, 'agent', d.gateway_agent, 'status', d.status, 'reward', d.reward));
      touched := touched || d.job_id;
    END IF;
  END LOOP;
  FOR job IN
    SELECT DISTINCT changed.id FROM unnest(touched) AS changed (id) WHERE NOT EXISTS (
      SELECT FROM trials t WHERE t.gateway_job_id = changed.id AND t.status IN ('queued', 'running', 'retrying')
    ) ORDER BY changed.id
  LOOP
    PERFORM end_gateway_job(job, CASE
      WHEN (SELECT cancelled_at FROM gateway_jobs WHERE id = job) IS NOT NULL THEN 'cancelled'
      WHEN has_real_result(job) THEN 'succeeded'
      ELSE 'failed' END, NULL);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_announce_gateway AFTER UPDATE ON jobs
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION follow_gateway();
