-- Each is one archive in the store, which is never changed: another export of the dataset has another key.
CREATE TABLE exports (
  org_id       text NOT NULL REFERENCES organisations (id),
  project      text NOT NULL,
  dataset      text NOT NULL,
  object_key   text NOT NULL UNIQUE,
  sha256       text NOT NULL,
  bytes        bigint NOT NULL CHECK (bytes >= 0),
  exported_by  text NOT NULL REFERENCES users (id),
  exported_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (org_id, project, dataset)
);
