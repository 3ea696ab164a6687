-- Jobs that have ended, moved here some minutes later and never changed again, so that what claims look at stays small.
-- What they ran is in attempts; groups and lanes of theirs may be gone.
CREATE TABLE finished_jobs (
  id            bigint PRIMARY KEY,
  org_id        text NOT NULL REFERENCES organisations (id),
  kind          text NOT NULL,
  subject_id    text NOT NULL,
  pool          text NOT NULL,
  key           text NOT NULL,
  lane          text NOT NULL,
  priority      smallint NOT NULL,
  state         text NOT NULL CHECK (state NOT IN ('held', 'ready', 'scheduled', 'running')),
  epoch         bigint NOT NULL,
  claim_id      uuid,
  attempt       integer NOT NULL,
  max_attempts  integer NOT NULL,
  losses        integer NOT NULL,
  group_id      text,
  memory_mb     integer NOT NULL,
  error         text,
  created_at    timestamptz NOT NULL,
  started_at    timestamptz,
  finished_at   timestamptz NOT NULL
);
CREATE INDEX finished_jobs_recent ON finished_jobs (finished_at);
CREATE INDEX finished_jobs_subject ON finished_jobs (subject_id);

-- What is to be moved, whatever states there are for what has ended.
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE state NOT IN ('held', 'ready', 'scheduled', 'running');
-- Whether a lane has any jobs; also for the foreign key, when one without any is deleted.
CREATE INDEX jobs_lane ON jobs (key, lane);

-- How much of a key a user gets beside others, by the user's lanes.
ALTER TABLE users ADD COLUMN weight real NOT NULL DEFAULT 1 CHECK (weight > 0);

-- When somebody last wanted to add jobs to the lane, give or take some minutes.
ALTER TABLE queue_lanes ADD COLUMN touched_at timestamptz NOT NULL DEFAULT clock_timestamp();

-- A lane that is wanted is not pruned before its jobs come, whatever release wants it: one that exists is held for the
-- transaction and touched. A new one gets its user's weight, which does not change before it is there; users are locked
-- before lanes, as by who changes a weight.
CREATE FUNCTION want_lane() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE of_user real;
BEGIN
  SELECT weight INTO of_user FROM users WHERE id = NEW.lane FOR SHARE;
  NEW.weight := coalesce(of_user, NEW.weight);
  PERFORM FROM queue_lanes WHERE key = NEW.key AND lane = NEW.lane FOR KEY SHARE;
  IF FOUND THEN
    UPDATE queue_lanes SET touched_at = clock_timestamp()
    WHERE key = NEW.key AND lane = NEW.lane AND touched_at < clock_timestamp() - interval '5 minutes';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER queue_lanes_wanted BEFORE INSERT ON queue_lanes FOR EACH ROW EXECUTE FUNCTION want_lane();
