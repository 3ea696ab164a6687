-- The only writer of a job's status: it is queued until its first trial runs, and over with the last one, or with an
-- archive that no trials came of. Jobs of the queue that change are looked at together, after their trials have changed.
CREATE OR REPLACE FUNCTION follow_gateway() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d record; touched text[] := '{}'; job text;
BEGIN
  IF NOT EXISTS (SELECT FROM after WHERE kind = 'archive' OR lane LIKE 'gateway:%') THEN
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

-- The path of a callback may be what lets in whoever knows it.
UPDATE gateway_callbacks SET url = regexp_replace(url, '^(https?://[^/]+/).*$', '\1…');

-- Verifications are no attempts at a task.
UPDATE trials SET is_probe = true FROM gateway_jobs g WHERE g.id = trials.gateway_job_id AND g.kind = 'verify';
