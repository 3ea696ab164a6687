-- An address that a job tells of its events: those of its notifications, by their place in the request, the one that its
-- artifacts are delivered to, and the one that its document is written back to. Addresses as they are used, and the
-- secrets that sign what is sent, are in the encrypted request. One message after the other, in the order of the events:
-- the next is of the first event after settled_seq that is one of `events`. Locked after gateway_jobs.
CREATE TABLE gateway_callbacks (
  job_id       text NOT NULL REFERENCES gateway_jobs (id) ON DELETE CASCADE,
  kind         text NOT NULL CHECK (kind IN ('notifications', 'deliver', 'writeback')),
  place        integer NOT NULL DEFAULT 0,
  org_id       text NOT NULL REFERENCES organisations (id),
  -- without what may be a signature
  url          text NOT NULL,
  events       text[] NOT NULL,
  owed_seq     bigint NOT NULL DEFAULT 0,
  settled_seq  bigint NOT NULL DEFAULT 0,
  -- at the next message
  attempts     integer NOT NULL DEFAULT 0,
  sending      boolean NOT NULL DEFAULT false,
  -- of the next attempt, while a worker sends of the one that follows if it never says what came of it; null: nothing is owed
  due_at       timestamptz,
  PRIMARY KEY (job_id, kind, place)
) WITH (fillfactor = 50);
CREATE INDEX gateway_callbacks_due ON gateway_callbacks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gateway_callbacks_sending ON gateway_callbacks (org_id) WHERE sending;

-- What came of each attempt to send a message: `status` is that of the answer, null where there was none.
CREATE TABLE gateway_deliveries (
  job_id     text NOT NULL,
  kind       text NOT NULL,
  place      integer NOT NULL,
  event_seq  bigint NOT NULL,
  attempt    integer NOT NULL,
  result     text NOT NULL CHECK (result IN ('delivered', 'postponed', 'failed')),
  status     integer,
  error      text,
  seconds    double precision NOT NULL,
  ended_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, kind, place, event_seq, attempt),
  FOREIGN KEY (job_id, kind, place) REFERENCES gateway_callbacks ON DELETE CASCADE
);

CREATE FUNCTION add_gateway_callbacks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_callbacks (job_id, kind, place, org_id, url, events)
  SELECT NEW.id, 'notifications', told.place - 1, NEW.org_id, told.it ->> 'url',
    ARRAY(SELECT jsonb_array_elements_text(coalesce(told.it -> 'events', '["job.finished"]')))
  FROM jsonb_array_elements(
    CASE jsonb_typeof(NEW.request -> 'notifications') WHEN 'array' THEN NEW.request -> 'notifications' ELSE '[]' END
  ) WITH ORDINALITY AS told (it, place);
  INSERT INTO gateway_callbacks (job_id, kind, org_id, url, events)
  SELECT NEW.id, kind, NEW.org_id, NEW.request #>> ARRAY[kind, 'url'], '{job.finished}'
  FROM unnest(ARRAY['deliver', 'writeback']) AS kind WHERE jsonb_typeof(NEW.request -> kind) = 'object';
  RETURN NULL;
END $$;
-- Its name is before that of the trigger which announces the job: triggers of a row run by name.
CREATE TRIGGER gateway_jobs_add_callbacks AFTER INSERT ON gateway_jobs FOR EACH ROW
  WHEN (NEW.request IS NOT NULL) EXECUTE FUNCTION add_gateway_callbacks();

CREATE FUNCTION owe_gateway_callbacks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway_callbacks SET owed_seq = NEW.seq, due_at = coalesce(due_at, clock_timestamp())
  WHERE job_id = NEW.job_id AND NEW.event = ANY (events);
  IF FOUND THEN
    PERFORM pg_notify('oddish_callbacks', '');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER gateway_events_callbacks AFTER INSERT ON gateway_events FOR EACH ROW
  EXECUTE FUNCTION owe_gateway_callbacks();
