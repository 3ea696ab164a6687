-- What a call with an Idempotency-Key was answered. Inserted first by the transaction that makes the rows of the answer,
-- so that a twin waits for it; the answer is null only inside that transaction.
CREATE TABLE idempotency_records (
  org_id      text NOT NULL REFERENCES organisations (id),
  route       text NOT NULL,
  key_hash    bytea NOT NULL CHECK (octet_length(key_hash) = 32),
  body_hash   bytea NOT NULL CHECK (octet_length(body_hash) = 32),
  user_id     text NOT NULL REFERENCES users (id),
  -- changes whenever the call is carried out again
  run         uuid NOT NULL DEFAULT gen_random_uuid(),
  answer      bytea,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL,
  PRIMARY KEY (org_id, route, key_hash)
);
CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_at);

-- Users are named when keys are made for them; two such requests must not make two users.
CREATE UNIQUE INDEX users_name ON users (org_id, name);

ALTER TABLE api_keys ADD COLUMN created_by text REFERENCES users (id);
CREATE INDEX api_keys_recent ON api_keys (org_id, created_at DESC, id);
