-- oldest-program: 0.1.0
-- Calls outside a run: core's own, for a session that is open. They have no turn and no lease, and the session alone is
-- their fence.

ALTER TABLE crossings ALTER COLUMN turn_id DROP NOT NULL;

-- The fence, as start_calls has it: no change of the session commits until this transaction has. Without a turn: whether
-- the session is open.
CREATE OR REPLACE FUNCTION is_running(p_session text, p_turn text, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM sessions WHERE id = p_session FOR SHARE;
  -- A statement of its own: what waited for a lock must be read anew.
  IF p_turn IS NULL AND p_epoch IS NULL THEN
    RETURN EXISTS (SELECT FROM sessions s WHERE s.id = p_session AND s.ended_at IS NULL);
  END IF;
  RETURN EXISTS (
    SELECT FROM sessions s JOIN turns t ON t.session_id = s.id
     WHERE s.id = p_session AND s.lease_epoch = p_epoch AND s.ended_at IS NULL AND t.id = p_turn AND t.state = 'active');
END $$;

-- Starts a call outside a run. started · run_stale, replica_dead: it has not
CREATE FUNCTION start_service_call(p_replica text, p_key text, p_session text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  began  timestamptz := clock_timestamp();
  said   text;
BEGIN
  said := CASE WHEN NOT is_replica(p_replica, hash_key(p_key)) THEN 'replica_dead'
    WHEN is_running(p_session, NULL, NULL) THEN 'started' ELSE 'run_stale' END;
  -- Whoever asked has given up by now: what it does not know of must not start.
  IF clock_timestamp() - began > interval '4 s' THEN RAISE EXCEPTION 'the start took too long' USING ERRCODE = '57014'; END IF;
  RETURN said;
END $$;

REVOKE EXECUTE ON FUNCTION start_service_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION start_service_call TO sallyport_gates;
