-- Values that an organisation keeps for its trials, by the name of the variable that an agent or a task takes them from.
CREATE TABLE org_secrets (
  org_id      text NOT NULL REFERENCES organisations (id),
  name        text NOT NULL,
  ciphertext  bytea NOT NULL,
  created_by  text NOT NULL REFERENCES users (id),
  created_at  timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, name)
);

-- Variables that a worker hands on from its own environment to the attempts that name them.
ALTER TABLE workers ADD COLUMN credentials text[] NOT NULL DEFAULT '{}';

-- Which variables the agents of the pool's engine take their credentials from; null when it does not say.
ALTER TABLE publications ADD COLUMN credentials jsonb;
