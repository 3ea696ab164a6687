"""A record, kept by the database itself, of every change that ends something: also of those that should not happen."""

from chaos.facts import Change, Heard
from support.fleet import Fleet

INSTALL = """
CREATE TABLE chaos_journal (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  trial_id text NOT NULL, epoch bigint, before text NOT NULL, after text NOT NULL
);
CREATE FUNCTION chaos_note_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chaos_journal (trial_id, epoch, before, after)
  VALUES (OLD.trial_id, OLD.epoch, OLD.state, CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE NEW.state END);
  RETURN NULL;
END $$;
CREATE FUNCTION chaos_note_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chaos_journal (trial_id, before, after) VALUES (OLD.id, OLD.status, NEW.status);
  RETURN NULL;
END $$;
CREATE TABLE chaos_events (trial_id text NOT NULL, epoch bigint NOT NULL, late boolean NOT NULL);
CREATE FUNCTION chaos_note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chaos_events SELECT NEW.trial_id, NEW.attempt, NOT EXISTS (
    SELECT FROM attempts WHERE trial_id = NEW.trial_id AND epoch = NEW.attempt AND state = 'running');
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_events AFTER INSERT ON trial_events FOR EACH ROW EXECUTE FUNCTION chaos_note_event();
CREATE TRIGGER chaos_attempts AFTER UPDATE ON attempts FOR EACH ROW
  WHEN (OLD.state <> 'running' OR NEW.state <> 'running') EXECUTE FUNCTION chaos_note_attempt();
CREATE TRIGGER chaos_attempts_deleted AFTER DELETE ON attempts FOR EACH ROW EXECUTE FUNCTION chaos_note_attempt();
CREATE TRIGGER chaos_trials AFTER UPDATE OF status ON trials FOR EACH ROW
  WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION chaos_note_trial();
"""
READ = "SELECT trial_id, epoch, before, after FROM chaos_journal ORDER BY id"
EVENTS = "SELECT trial_id || '/' || epoch, late FROM chaos_events WHERE trial_id LIKE %s"
"""Live events, and whether their attempt was over when they came."""


def install(fleet: Fleet) -> None:
    fleet.rows(INSTALL)


def events(fleet: Fleet, tag: str) -> list[Heard]:
    return [Heard(*row) for row in fleet.rows(EVENTS, f"{tag}%")]  # type: ignore[arg-type]


def read(fleet: Fleet) -> list[Change]:
    return [Change(*row) for row in fleet.rows(READ)]  # type: ignore[arg-type]
