-- Identity ------------------------------------------------------------------------------------------------------------

CREATE TABLE organisations (
  id          text PRIMARY KEY,
  name        text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
  id               text PRIMARY KEY,
  org_id           text NOT NULL REFERENCES organisations (id),
  name             text NOT NULL,
  email            text,
  role             text NOT NULL CHECK (role IN ('admin', 'member')),
  github_username  text,
  created_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX users_org ON users (org_id);

CREATE TABLE api_keys (
  id            text PRIMARY KEY,
  org_id        text NOT NULL REFERENCES organisations (id),
  user_id       text NOT NULL REFERENCES users (id),
  name          text NOT NULL,
  key_hash      bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
  key_prefix    text NOT NULL,
  scope         text NOT NULL CHECK (scope IN ('read', 'tasks', 'full')),
  created_at    timestamptz NOT NULL DEFAULT now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz
);
CREATE INDEX api_keys_org ON api_keys (org_id);

-- Values of secret-named variables, encrypted; everything else refers to them by id.
CREATE TABLE secrets (
  id          text PRIMARY KEY,
  org_id      text NOT NULL REFERENCES organisations (id),
  ciphertext  bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);
CREATE INDEX secrets_expiry ON secrets (expires_at);

-- Tasks ---------------------------------------------------------------------------------------------------------------

-- A task without a current version is a name reserved by an upload that has not completed.
CREATE TABLE tasks (
  id                text PRIMARY KEY,
  org_id            text NOT NULL REFERENCES organisations (id),
  name              text NOT NULL,
  created_by        text NOT NULL REFERENCES users (id),
  user_name         text,
  github_username   text,
  github_meta       jsonb,
  link              text,
  tags              jsonb NOT NULL DEFAULT '{}',
  priority          text NOT NULL DEFAULT 'low' CHECK (priority IN ('low', 'high')),
  run_analysis      boolean NOT NULL DEFAULT false,
  run_probe         boolean NOT NULL DEFAULT false,
  current_version   integer,
  last_version      integer NOT NULL DEFAULT 0,
  next_trial_index  integer NOT NULL DEFAULT 0,
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now(),
  deleted_at        timestamptz
);
CREATE UNIQUE INDEX tasks_live_name ON tasks (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX tasks_recent ON tasks (org_id, created_at DESC, id) WHERE deleted_at IS NULL AND current_version IS NOT NULL;

CREATE TABLE task_versions (
  id             text PRIMARY KEY,
  org_id         text NOT NULL REFERENCES organisations (id),
  task_id        text NOT NULL REFERENCES tasks (id),
  version        integer NOT NULL CHECK (version >= 1),
  content_hash   text NOT NULL,
  client_hash    text NOT NULL,
  archive_key    text NOT NULL,
  archive_bytes  bigint NOT NULL,
  definition     jsonb NOT NULL,
  message        text,
  created_by     text NOT NULL REFERENCES users (id),
  created_at     timestamptz NOT NULL DEFAULT now(),
  UNIQUE (task_id, version)
);

CREATE TABLE uploads (
  id            text PRIMARY KEY,
  org_id        text NOT NULL REFERENCES organisations (id),
  user_id       text NOT NULL REFERENCES users (id),
  task_id       text NOT NULL REFERENCES tasks (id),
  client_hash   text NOT NULL,
  force_new     boolean NOT NULL DEFAULT false,
  message       text,
  object_key    text NOT NULL UNIQUE,
  created_at    timestamptz NOT NULL DEFAULT now(),
  expires_at    timestamptz NOT NULL,
  completed_at  timestamptz,
  version       integer
);
CREATE INDEX uploads_by_content ON uploads (task_id, client_hash, created_at DESC);

-- Experiments ---------------------------------------------------------------------------------------------------------

CREATE TABLE experiments (
  id                text PRIMARY KEY,
  org_id            text NOT NULL REFERENCES organisations (id),
  name              text NOT NULL,
  created_by        text NOT NULL REFERENCES users (id),
  user_name         text,
  description       text,
  link              text,
  is_collection     boolean NOT NULL DEFAULT false,
  public_token      text UNIQUE,
  created_at        timestamptz NOT NULL DEFAULT now(),
  last_activity_at  timestamptz NOT NULL DEFAULT now(),
  deleted_at        timestamptz
);
CREATE UNIQUE INDEX experiments_live_name ON experiments (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX experiments_recent ON experiments (org_id, last_activity_at DESC, id) WHERE deleted_at IS NULL;

CREATE TABLE task_experiments (
  task_id        text NOT NULL REFERENCES tasks (id),
  experiment_id  text NOT NULL REFERENCES experiments (id),
  org_id         text NOT NULL REFERENCES organisations (id),
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (experiment_id, task_id)
);
CREATE INDEX task_experiments_task ON task_experiments (task_id);

-- Trials --------------------------------------------------------------------------------------------------------------

-- What was asked for, and a projection of its job and of the attempt that decided it. Status, attempts and the times are
-- written by project_job() only.
CREATE TABLE trials (
  id                      text PRIMARY KEY,
  org_id                  text NOT NULL REFERENCES organisations (id),
  task_id                 text NOT NULL REFERENCES tasks (id),
  task_version_id         text NOT NULL REFERENCES task_versions (id),
  task_version            integer NOT NULL,
  experiment_id           text NOT NULL REFERENCES experiments (id),
  trial_index             integer NOT NULL,
  name                    text NOT NULL,
  agent                   text NOT NULL,
  model                   text,
  provider                text NOT NULL,
  queue_key               text NOT NULL,
  environment             text NOT NULL,
  agent_config            jsonb NOT NULL DEFAULT '{}',
  harbor_config           jsonb NOT NULL DEFAULT '{}',
  unit_hash               bytea NOT NULL,
  secret_id               text REFERENCES secrets (id) ON DELETE SET NULL,
  origin                  text NOT NULL DEFAULT 'oddish' CHECK (origin IN ('oddish', 'imported')),
  is_probe                boolean NOT NULL DEFAULT false,
  created_by              text NOT NULL REFERENCES users (id),
  status                  text NOT NULL DEFAULT 'queued'
                          CHECK (status IN ('queued', 'running', 'retrying', 'success', 'failed', 'skipped')),
  attempts                integer NOT NULL DEFAULT 0,
  max_attempts            integer NOT NULL CHECK (max_attempts >= 1),
  harbor_stage            text,
  decided_by_epoch        bigint,
  reward                  double precision,
  rewards                 jsonb,
  result                  jsonb,
  reasons                 jsonb NOT NULL DEFAULT '[]',
  error_message           text,
  input_tokens            bigint,
  cache_tokens            bigint,
  output_tokens           bigint,
  total_steps             integer,
  cost_usd                double precision,
  cost_is_estimated       boolean,
  phase_timing            jsonb,
  has_trajectory          boolean NOT NULL DEFAULT false,
  superseded_by_trial_id  text UNIQUE REFERENCES trials (id),
  created_at              timestamptz NOT NULL DEFAULT now(),
  started_at              timestamptz,
  finished_at             timestamptz,
  deleted_at              timestamptz,
  UNIQUE (task_id, trial_index)
);
CREATE INDEX trials_experiment ON trials (experiment_id, task_id, trial_index) WHERE deleted_at IS NULL;
CREATE INDEX trials_unit ON trials (task_version_id, experiment_id, unit_hash)
  WHERE deleted_at IS NULL AND superseded_by_trial_id IS NULL;

-- One execution of a trial by a worker. The epoch is the attempt's number; a lost one is not charged to the budget.
CREATE TABLE attempts (
  trial_id         text NOT NULL REFERENCES trials (id),
  epoch            bigint NOT NULL,
  org_id           text NOT NULL REFERENCES organisations (id),
  job_id           bigint NOT NULL,
  claim_id         uuid NOT NULL,
  worker_id        text NOT NULL,
  state            text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'lost', 'cancelled')),
  stage            text,
  status           text CHECK (status IN ('success', 'failed', 'cancelled')),
  reasons          jsonb NOT NULL DEFAULT '[]',
  failure          jsonb,
  facts            jsonb,
  artifact_prefix  text,
  artifact_files   integer,
  artifact_bytes   bigint,
  started_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at      timestamptz,
  PRIMARY KEY (trial_id, epoch)
);

-- Queue ---------------------------------------------------------------------------------------------------------------
-- Lock order everywhere: jobs (by id), trials, queue_keys (by key), queue_lanes (by key, lane), queue_caps (by name),
-- job_groups (by id). What follows a group's lock takes held jobs only, and none that somebody else has.

CREATE TABLE queue_keys (
  key             text PRIMARY KEY,
  deploy_limit    integer NOT NULL CHECK (deploy_limit >= 0),
  override_limit  integer CHECK (override_limit >= 0),
  paused          boolean NOT NULL DEFAULT false,
  running         integer NOT NULL DEFAULT 0 CHECK (running >= 0)
) WITH (fillfactor = 50);

-- Limits shared by lanes: a provider's, an organisation's, a gateway project's quota. NULL counts without limiting.
CREATE TABLE queue_caps (
  name            text PRIMARY KEY,
  deploy_limit    integer CHECK (deploy_limit >= 0),
  override_limit  integer CHECK (override_limit >= 0),
  running         integer NOT NULL DEFAULT 0 CHECK (running >= 0)
) WITH (fillfactor = 50);

-- One user's share of a key.
CREATE TABLE queue_lanes (
  key         text NOT NULL REFERENCES queue_keys (key),
  lane        text NOT NULL,
  caps        text[] NOT NULL DEFAULT '{}',
  weight      real NOT NULL DEFAULT 1 CHECK (weight > 0),
  running     integer NOT NULL DEFAULT 0 CHECK (running >= 0),
  last_claim  timestamptz NOT NULL DEFAULT 'epoch',
  PRIMARY KEY (key, lane)
) WITH (fillfactor = 50);

-- Jobs that are released together: at most max_running of them at a time (NULL: all), and only when the group that they
-- come after has ended.
CREATE TABLE job_groups (
  id           text PRIMARY KEY,
  org_id       text NOT NULL REFERENCES organisations (id),
  max_running  integer CHECK (max_running >= 1),
  after        text REFERENCES job_groups (id),
  created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_groups_after ON job_groups (after) WHERE after IS NOT NULL;

-- One process life of a worker. Its lease is the only sign of life there is.
CREATE TABLE workers (
  id           text PRIMARY KEY,
  hostname     text NOT NULL,
  pid          integer NOT NULL,
  version      text NOT NULL,
  pools        text[] NOT NULL,
  cpus         integer NOT NULL,
  memory_mb    integer NOT NULL,
  concurrency  integer NOT NULL,
  started_at   timestamptz NOT NULL DEFAULT now(),
  lease_until  timestamptz NOT NULL,
  stopped_at   timestamptz
) WITH (fillfactor = 50);

-- What the latest worker of a pool said about it, kept after that worker is gone: what it can run there, or the reason
-- why it cannot offer the environment at all.
CREATE TABLE publications (
  pool          text PRIMARY KEY,
  environment   text NOT NULL,
  engine        text NOT NULL,
  preference    integer NOT NULL,
  agents        jsonb NOT NULL,
  reason        text,
  memory_mb     integer NOT NULL,
  worker_id     text NOT NULL,
  published_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE jobs (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_id            text NOT NULL REFERENCES organisations (id),
  kind              text NOT NULL,
  subject_id        text NOT NULL,
  pool              text NOT NULL,
  key               text NOT NULL,
  lane              text NOT NULL,
  priority          smallint NOT NULL DEFAULT 0 CHECK (priority IN (0, 1)),
  -- held: waits for a slot of its group or for the end of another group; scheduled: waits for run_at
  state             text NOT NULL CHECK (state IN ('held', 'ready', 'scheduled', 'running', 'done', 'failed', 'cancelled')),
  ready_at          timestamptz NOT NULL DEFAULT now(),
  run_at            timestamptz,
  epoch             bigint NOT NULL DEFAULT 0,
  claim_id          uuid,
  attempt           integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  max_attempts      integer NOT NULL CHECK (max_attempts >= 1),
  losses            integer NOT NULL DEFAULT 0,
  worker_id         text,
  cancel_requested  boolean NOT NULL DEFAULT false,
  group_id          text REFERENCES job_groups (id),
  memory_mb         integer NOT NULL DEFAULT 0,
  error             text,
  created_at        timestamptz NOT NULL DEFAULT now(),
  started_at        timestamptz,
  finished_at       timestamptz,
  FOREIGN KEY (key, lane) REFERENCES queue_lanes (key, lane),
  CHECK (state <> 'held' OR group_id IS NOT NULL),
  CHECK ((state = 'scheduled') = (run_at IS NOT NULL)),
  CHECK ((state = 'running') = (worker_id IS NOT NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX jobs_ready ON jobs (pool, key, lane, priority, ready_at, id) WHERE state = 'ready';
CREATE INDEX jobs_scheduled ON jobs (run_at) WHERE state = 'scheduled';
CREATE INDEX jobs_running ON jobs (worker_id) WHERE state = 'running';
CREATE INDEX jobs_group ON jobs (group_id, state) WHERE group_id IS NOT NULL;
CREATE INDEX jobs_held ON jobs (group_id) WHERE state = 'held';
CREATE UNIQUE INDEX jobs_one_active ON jobs (kind, subject_id)
  WHERE state IN ('held', 'ready', 'scheduled', 'running');
CREATE INDEX jobs_subject ON jobs (subject_id);

-- Keeps the running counters of keys, lanes and caps equal to the jobs, in the lock order above.
CREATE FUNCTION count_running() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d record;
BEGIN
  FOR d IN
    SELECT key, sum(n)::int AS n FROM (
      SELECT key, 1 AS n FROM after WHERE state = 'running' UNION ALL SELECT key, -1 FROM before WHERE state = 'running'
    ) change GROUP BY key HAVING sum(n) <> 0 ORDER BY key
  LOOP
    UPDATE queue_keys SET running = running + d.n WHERE key = d.key;
  END LOOP;
  FOR d IN
    SELECT key, lane, sum(n)::int AS n FROM (
      SELECT key, lane, 1 AS n FROM after WHERE state = 'running'
      UNION ALL SELECT key, lane, -1 FROM before WHERE state = 'running'
    ) change GROUP BY key, lane HAVING sum(n) <> 0 ORDER BY key, lane
  LOOP
    UPDATE queue_lanes SET running = running + d.n,
      last_claim = CASE WHEN d.n > 0 THEN clock_timestamp() ELSE last_claim END
    WHERE key = d.key AND lane = d.lane;
  END LOOP;
  FOR d IN
    SELECT cap AS name, sum(n)::int AS n FROM (
      SELECT key, lane, 1 AS n FROM after WHERE state = 'running'
      UNION ALL SELECT key, lane, -1 FROM before WHERE state = 'running'
    ) change JOIN queue_lanes USING (key, lane) CROSS JOIN LATERAL unnest(caps) AS cap
    GROUP BY cap HAVING sum(n) <> 0 ORDER BY cap
  LOOP
    UPDATE queue_caps SET running = running + d.n WHERE name = d.name;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_count_running AFTER UPDATE ON jobs
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION count_running();

-- Releases held jobs of a group up to its limit, the oldest first, once the group it comes after has ended; a job that
-- waits for its time keeps its place. Jobs that somebody else has locked are left to them.
CREATE FUNCTION release_group(wanted text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE g job_groups; places integer; released integer;
BEGIN
  SELECT * INTO g FROM job_groups WHERE id = wanted FOR NO KEY UPDATE;
  IF g.after IS NOT NULL AND EXISTS (
    SELECT FROM jobs WHERE group_id = g.after AND state IN ('held', 'ready', 'scheduled', 'running')
  ) THEN
    RETURN 0;
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
  GET DIAGNOSTICS released = ROW_COUNT;
  IF released > 0 THEN
    PERFORM pg_notify('oddish_jobs', '');
  END IF;
  RETURN released;
END $$;

-- A job that ends makes room in its group, and the last one of a group lets the groups after it begin.
CREATE FUNCTION release_groups() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ended text;
BEGIN
  FOR ended IN
    SELECT DISTINCT now_.group_id FROM after now_ JOIN before was USING (id)
    WHERE now_.group_id IS NOT NULL AND now_.state IN ('done', 'failed', 'cancelled')
      AND was.state NOT IN ('done', 'failed', 'cancelled')
    ORDER BY 1
  LOOP
    PERFORM release_group(ended);
    PERFORM release_group(id) FROM (
      SELECT id FROM job_groups WHERE after = ended AND NOT EXISTS (
        SELECT FROM jobs WHERE group_id = ended AND state IN ('held', 'ready', 'scheduled', 'running')
      ) ORDER BY id
    ) waiting;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_release_groups AFTER UPDATE ON jobs
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION release_groups();

-- The only writer of a trial's status, attempts and times.
CREATE FUNCTION project_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE trials SET
    status = CASE
      WHEN NEW.state = 'running' THEN 'running'
      WHEN NEW.state = 'done' THEN 'success'
      WHEN NEW.state IN ('failed', 'cancelled') THEN 'failed'
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
    error_message = CASE WHEN NEW.state IN ('failed', 'cancelled') THEN coalesce(NEW.error, error_message) ELSE error_message END
  WHERE id = NEW.subject_id;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_project_trial AFTER UPDATE OF state ON jobs FOR EACH ROW
  WHEN (NEW.kind = 'trial' AND OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION project_job();
