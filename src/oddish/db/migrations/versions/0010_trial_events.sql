-- What an agent says and does while it runs, for those who watch: `attempt` is the epoch, `seq` counts from 1 in it. The
-- permanent record is in the store. No foreign key: rows are written only together with a running attempt, and many.
CREATE TABLE trial_events (
  trial_id    text NOT NULL,
  attempt     bigint NOT NULL,
  seq         bigint NOT NULL,
  kind        text NOT NULL,
  payload     jsonb NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (trial_id, attempt, seq)
);

-- Whoever follows a trial learns at once that it is a stage further, has ended or runs again.
CREATE FUNCTION announce_progress() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('oddish_live', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER trials_progress AFTER UPDATE OF harbor_stage, finished_at ON trials FOR EACH ROW
  WHEN (NEW.harbor_stage IS DISTINCT FROM OLD.harbor_stage OR NEW.finished_at IS DISTINCT FROM OLD.finished_at)
  EXECUTE FUNCTION announce_progress();
