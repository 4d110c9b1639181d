-- oldest-program: 0.1.0
-- What was asked inside an interception: append-only, like every record.

CREATE TABLE exchanges (
  id             text PRIMARY KEY,
  connection_id  text NOT NULL,
  at             timestamptz NOT NULL,
  method         text NOT NULL,
  path           text NOT NULL,
  status         integer,
  reason         text NOT NULL,
  credentials    text[] NOT NULL,
  bytes_up       bigint NOT NULL,
  bytes_down     bigint NOT NULL,
  duration_ms    bigint NOT NULL
);
CREATE INDEX exchanges_by_connection ON exchanges (connection_id, id);

GRANT SELECT ON exchanges TO sallyport_core;
GRANT INSERT ON exchanges TO sallyport_egress;
