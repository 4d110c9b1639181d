-- oldest-program: 0.1.0
-- What left: append-only. A connection's row is committed before a name is looked up; its end is a row of its own.

CREATE TABLE connections (
  id              text PRIMARY KEY,
  at              timestamptz NOT NULL,
  environment_id  text NOT NULL,
  token_id        text NOT NULL,
  pod_uid         text NOT NULL,
  session_id      text,
  turn_id         text,
  replica         text NOT NULL,
  source          text NOT NULL,
  host            text NOT NULL,
  port            integer NOT NULL,
  verdict         text NOT NULL CHECK (verdict IN ('allowed', 'denied', 'reported')),
  reason          text NOT NULL
);
-- Ids are UUIDv7: (environment, id) is also (environment, time).
CREATE INDEX connections_by_environment ON connections (environment_id, id);

CREATE TABLE connection_ends (
  connection_id  text PRIMARY KEY,
  at             timestamptz NOT NULL,
  -- `denied` where the attempt failed after its first row: its addresses, the dial. Else the verdict stands.
  verdict        text NOT NULL CHECK (verdict IN ('allowed', 'denied', 'reported')),
  reason         text NOT NULL,
  addresses      text[] NOT NULL,
  address        text,
  bytes_up       bigint NOT NULL,
  bytes_down     bigint NOT NULL,
  duration_ms    bigint NOT NULL,
  exchanges      integer NOT NULL DEFAULT 0
);

-- What nobody could be named for, or what would flood the record, is counted: a source, a reason, a minute.
CREATE TABLE refusal_counts (
  -- A batch whose answer was lost is sent again: what is there already stays.
  id              text PRIMARY KEY,
  minute          timestamptz NOT NULL,
  replica         text NOT NULL,
  source          text NOT NULL,
  environment_id  text,
  reason          text NOT NULL,
  count           bigint NOT NULL
);
CREATE INDEX refusal_counts_by_minute ON refusal_counts (minute);
