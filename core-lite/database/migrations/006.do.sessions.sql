-- oldest-program: 0.1.0
-- Sessions, their turns and their leases, with rights and notices; admin keys that may only read.
-- Every change locks the session's row first (core-lite/state/session-lock.ts) and takes its time behind the lock, so
-- that times have the order of the changes.

-- `manifest` is pinned when the session opens: nobody has the right to change it afterwards.
CREATE TABLE sessions (
  id              text PRIMARY KEY,
  agent           text NOT NULL,
  environment_id  text REFERENCES environments,
  owner_user      text,
  manifest        jsonb NOT NULL,
  lease_epoch     bigint NOT NULL DEFAULT 0,
  opened_at       timestamptz NOT NULL DEFAULT now(),
  ended_at        timestamptz
);
CREATE INDEX sessions_by_agent ON sessions (agent, id);
CREATE INDEX open_sessions ON sessions (id) WHERE ended_at IS NULL;

CREATE TABLE turns (
  id          text PRIMARY KEY,
  session_id  text NOT NULL REFERENCES sessions,
  state       text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'ended', 'cancelled')),
  started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at    timestamptz,
  CHECK ((state = 'active') = (ended_at IS NULL))
);
CREATE UNIQUE INDEX one_active_turn_of_a_session ON turns (session_id) WHERE state = 'active';
CREATE INDEX turns_by_session ON turns (session_id, id);

-- One row a lease; only `heard_at` moves, with each heartbeat, and tells nobody.
CREATE TABLE leases (
  session_id  text NOT NULL REFERENCES sessions,
  epoch       bigint NOT NULL,
  turn_id     text NOT NULL REFERENCES turns,
  holder      text NOT NULL,
  taken_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  heard_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, epoch)
);

-- A program that does not know roles makes keys that may do everything.
ALTER TABLE admin_keys ADD COLUMN role text NOT NULL DEFAULT 'full' CHECK (role IN ('full', 'read_only'));

-- What a turn reached. Most connections have no turn.
CREATE INDEX connections_by_turn ON connections (turn_id, id) WHERE turn_id IS NOT NULL;

GRANT SELECT, INSERT, UPDATE (lease_epoch, ended_at) ON sessions TO sallyport_core;
GRANT SELECT, INSERT, UPDATE (state, ended_at) ON turns TO sallyport_core;
GRANT SELECT, INSERT, UPDATE (heard_at) ON leases TO sallyport_core;
GRANT SELECT ON sessions, turns TO sallyport_gates;
-- Egress asks whether a turn is over: not whose it is, nor what its manifest allows.
GRANT SELECT (id, environment_id, lease_epoch, ended_at) ON sessions TO sallyport_egress;
GRANT SELECT (id, session_id, state) ON turns TO sallyport_egress;

CREATE FUNCTION tell_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('session', COALESCE(NEW.id, OLD.id));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION tell_session();

CREATE FUNCTION tell_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('session', COALESCE(NEW.session_id, OLD.session_id));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON turns
  FOR EACH ROW EXECUTE FUNCTION tell_turn();
