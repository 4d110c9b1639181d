-- oldest-program: 0.1.0
-- Crossings: keyed tool calls, each of which reaches its target at most once. A row is the key's tombstone too: it lives
-- as long as its session, and holds an HMAC of the request, never the request. The outcome is sealed and is emptied
-- after a day. The gates write here through these functions alone, and a replica proves with its key that a crossing is its own.

CREATE TABLE crossings (
  id             text PRIMARY KEY,
  session_id     text NOT NULL REFERENCES sessions ON DELETE CASCADE,
  -- The caller's Idempotency-Key.
  key            text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  kind           text NOT NULL CHECK (kind IN ('http', 'mcp')),
  server         text,
  tool           text NOT NULL,
  credential_id  text,
  request_mac    bytea NOT NULL,
  -- Of whoever claimed it last.
  turn_id        text NOT NULL,
  agent          text NOT NULL,
  -- claimed: somebody runs it and has written nothing. sent: something may have reached the target. done: settled, for good.
  -- free: it failed before anything was written, or its owner did; whoever asks again runs it.
  state          text NOT NULL DEFAULT 'claimed' CHECK (state IN ('claimed', 'sent', 'done', 'free')),
  -- Counts the claims: a former owner's statements find nothing any more.
  attempt        integer NOT NULL DEFAULT 1,
  replica        text NOT NULL,
  key_hash       bytea NOT NULL,
  -- Its end was asked for; whoever runs it looks every half second.
  cancelled      boolean NOT NULL DEFAULT false,
  -- How it ended; of one that is free, how it failed.
  status         text CHECK (status IN ('uncertain', 'cancelled', 'failed', 'completed')),
  code           text CHECK (length(code) <= 100),
  claimed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  sent_at        timestamptz,
  settled_at     timestamptz,
  outcome        bytea,
  result_bytes   bigint CHECK (result_bytes >= 0),
  UNIQUE (session_id, key),
  CHECK (state NOT IN ('done', 'free') OR status IS NOT NULL),
  CHECK ((state = 'done') = (settled_at IS NOT NULL))
);
CREATE INDEX crossings_by_session ON crossings (session_id, id);
CREATE INDEX running_crossings ON crossings (replica) WHERE state IN ('claimed', 'sent');
CREATE INDEX kept_outcomes ON crossings (settled_at) WHERE outcome IS NOT NULL;

-- How long an outcome is kept.
CREATE FUNCTION outcome_life() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '24 hours' $$;

-- Whether a replica is there, and is the one that has this key.
CREATE FUNCTION is_replica(p_replica text, p_key_hash bytea) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM replicas WHERE id = p_replica AND key_hash = p_key_hash) $$;

-- The fence, as start_calls has it: no change of the session commits until this transaction has.
CREATE FUNCTION is_running(p_session text, p_turn text, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM sessions WHERE id = p_session FOR SHARE;
  -- A statement of its own: what waited for a lock must be read anew.
  RETURN EXISTS (
    SELECT FROM sessions s JOIN turns t ON t.session_id = s.id
     WHERE s.id = p_session AND s.lease_epoch = p_epoch AND s.ended_at IS NULL AND t.id = p_turn AND t.state = 'active');
END $$;

-- Ends crossings that nobody runs any more, whose rows the caller has locked: one that was sent may have run and is never
-- run again, one that was not is free.
CREATE FUNCTION lose_crossings(p_ids text[]) RETURNS void LANGUAGE sql AS $$
  UPDATE crossings SET
      state = CASE WHEN state = 'sent' OR cancelled THEN 'done' ELSE 'free' END,
      status = CASE WHEN state = 'sent' THEN 'uncertain' WHEN cancelled THEN 'cancelled' ELSE 'failed' END,
      code = CASE WHEN state = 'sent' THEN CASE kind WHEN 'http' THEN 'http.lost' ELSE 'tool.uncertain' END
        WHEN cancelled THEN 'tool.cancelled' ELSE 'tool.interrupted' END,
      settled_at = CASE WHEN state = 'sent' OR cancelled THEN clock_timestamp() END
    WHERE id = ANY (p_ids) AND state IN ('claimed', 'sent') $$;

-- Starts a keyed call, or says what became of it: in one transaction the fence, the key, and the claim.
-- mine: run it · running: somebody does · done: what came of it · conflict: the key is another request's ·
-- expired: it ran, and its outcome is gone · run_stale, replica_dead: nothing has started.
CREATE FUNCTION claim_crossing(
  p_replica text, p_key text, p_id text, p_session text, p_turn text, p_agent text, p_epoch bigint, p_call_key text,
  p_kind text, p_server text, p_tool text, p_credential text, p_mac bytea
) RETURNS TABLE (answer text, id text, attempt integer, kind text, status text, code text, outcome bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  began  timestamptz := clock_timestamp();
  own    bytea := hash_key(p_key);
  seen   crossings;
  said   text;
BEGIN
  IF NOT is_replica(p_replica, own) THEN
    said := 'replica_dead';
  ELSIF NOT is_running(p_session, p_turn, p_epoch) THEN
    said := 'run_stale';
  ELSE
    INSERT INTO crossings (id, session_id, key, kind, server, tool, credential_id, request_mac, turn_id, agent, replica, key_hash)
      VALUES (p_id, p_session, p_call_key, p_kind, p_server, p_tool, p_credential, p_mac, p_turn, p_agent, p_replica, own)
      ON CONFLICT (session_id, key) DO NOTHING RETURNING * INTO seen;
    IF seen.id IS NOT NULL THEN
      said := 'mine';
    ELSE
      SELECT * INTO seen FROM crossings c WHERE c.session_id = p_session AND c.key = p_call_key FOR UPDATE;
      IF seen.request_mac <> p_mac THEN
        said := 'conflict';
      ELSE
        IF seen.state IN ('claimed', 'sent') AND NOT is_replica(seen.replica, seen.key_hash) THEN
          PERFORM lose_crossings(ARRAY[seen.id]);
          SELECT * INTO seen FROM crossings c WHERE c.id = seen.id;
        END IF;
        IF seen.state = 'free' THEN
          UPDATE crossings c SET state = 'claimed', attempt = c.attempt + 1, replica = p_replica, key_hash = own,
              turn_id = p_turn, agent = p_agent, credential_id = p_credential, status = NULL, code = NULL,
              claimed_at = clock_timestamp(), sent_at = NULL
            WHERE c.id = seen.id RETURNING * INTO seen;
          said := 'mine';
        ELSIF seen.state = 'done' THEN
          said := CASE WHEN seen.settled_at < clock_timestamp() - outcome_life() THEN 'expired' ELSE 'done' END;
        ELSE
          said := 'running';
        END IF;
      END IF;
    END IF;
  END IF;
  -- Whoever asked has given up by now: what it does not know of must not start.
  IF clock_timestamp() - began > interval '4 s' THEN RAISE EXCEPTION 'the claim took too long' USING ERRCODE = '57014'; END IF;
  RETURN QUERY SELECT said, seen.id, seen.attempt, seen.kind,
    CASE said WHEN 'done' THEN seen.status END, CASE said WHEN 'done' THEN seen.code END,
    CASE said WHEN 'done' THEN seen.outcome END;
END $$;

-- The compare-and-set before the first byte. @returns whether it was won; else nothing may be written
CREATE FUNCTION send_crossing(p_replica text, p_key text, p_id text, p_attempt integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  began  timestamptz := clock_timestamp();
BEGIN
  UPDATE crossings SET state = 'sent', sent_at = clock_timestamp()
    WHERE id = p_id AND attempt = p_attempt AND state = 'claimed' AND NOT cancelled
      AND replica = p_replica AND key_hash = hash_key(p_key) AND is_replica(replica, key_hash);
  IF NOT FOUND THEN RETURN false; END IF;
  IF clock_timestamp() - began > interval '4 s' THEN RAISE EXCEPTION 'the send took too long' USING ERRCODE = '57014'; END IF;
  RETURN true;
END $$;

-- Settles a crossing that was sent, or cancelled before. @returns whether it was this that settled it
CREATE FUNCTION settle_crossing(
  p_replica text, p_key text, p_id text, p_attempt integer, p_status text, p_code text, p_outcome bytea, p_bytes bigint
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE crossings SET state = 'done', status = p_status, code = p_code, outcome = p_outcome, result_bytes = p_bytes,
      settled_at = clock_timestamp()
    WHERE id = p_id AND attempt = p_attempt AND (state = 'sent' OR state = 'claimed' AND p_status = 'cancelled')
      AND replica = p_replica AND key_hash = hash_key(p_key);
  RETURN FOUND;
END $$;

-- Gives back a claim from which nothing was written, which its owner alone can know.
CREATE FUNCTION release_crossing(p_replica text, p_key text, p_id text, p_attempt integer, p_code text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE crossings SET state = CASE WHEN cancelled THEN 'done' ELSE 'free' END,
      status = CASE WHEN cancelled THEN 'cancelled' ELSE 'failed' END,
      code = CASE WHEN cancelled THEN 'tool.cancelled' ELSE p_code END, sent_at = NULL,
      settled_at = CASE WHEN cancelled THEN clock_timestamp() END
    WHERE id = p_id AND attempt = p_attempt AND state IN ('claimed', 'sent')
      AND replica = p_replica AND key_hash = hash_key(p_key);
  RETURN FOUND;
END $$;

-- For whoever waits for a crossing that another replica runs. `again`: nobody does, claim it
CREATE FUNCTION read_crossing(p_session text, p_id text)
RETURNS TABLE (answer text, attempt integer, kind text, status text, code text, outcome bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT CASE WHEN c.state = 'done' THEN 'done'
      WHEN c.state = 'free' OR NOT is_replica(c.replica, c.key_hash) THEN 'again' ELSE 'running' END,
    c.attempt, c.kind, c.status, c.code, c.outcome
    FROM crossings c WHERE c.session_id = p_session AND c.id = p_id $$;

-- Which of a replica's running crossings must end, all in one reading. cancelled: that call, or its turn, was ·
-- ended: its session did · lost: it is not this replica's any more
CREATE FUNCTION watch_crossings(p_replica text, p_key text, p_ids text[], p_attempts integer[])
RETURNS TABLE (id text, why text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT w.id, CASE WHEN c.id IS NULL THEN 'lost' WHEN s.ended_at IS NOT NULL THEN 'ended' ELSE 'cancelled' END
    FROM unnest(p_ids, p_attempts) AS w(id, attempt)
    LEFT JOIN crossings c ON c.id = w.id AND c.attempt = w.attempt AND c.state IN ('claimed', 'sent')
      AND c.replica = p_replica AND c.key_hash = hash_key(p_key)
    LEFT JOIN sessions s ON s.id = c.session_id
    LEFT JOIN turns t ON t.id = c.turn_id
   WHERE c.id IS NULL OR c.cancelled OR s.ended_at IS NOT NULL OR t.state = 'cancelled' $$;

-- Asks for the end of a call; its owner, on whatever replica, sees it. @returns how it stands: running, or its status
CREATE FUNCTION cancel_crossing(p_session text, p_turn text, p_epoch bigint, p_call_key text)
RETURNS TABLE (answer text, id text, status text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  seen   crossings;
BEGIN
  IF NOT is_running(p_session, p_turn, p_epoch) THEN RETURN QUERY SELECT 'run_stale', NULL, NULL; RETURN; END IF;
  SELECT * INTO seen FROM crossings c WHERE c.session_id = p_session AND c.key = p_call_key FOR UPDATE;
  IF seen.id IS NULL THEN RETURN QUERY SELECT 'unknown', NULL, NULL; RETURN; END IF;
  IF seen.state = 'free' THEN
    UPDATE crossings c SET state = 'done', cancelled = true, status = 'cancelled', code = 'tool.cancelled',
        settled_at = clock_timestamp()
      WHERE c.id = seen.id;
  ELSIF seen.state <> 'done' THEN
    UPDATE crossings c SET cancelled = true WHERE c.id = seen.id;
    IF NOT is_replica(seen.replica, seen.key_hash) THEN PERFORM lose_crossings(ARRAY[seen.id]); END IF;
  END IF;
  RETURN QUERY SELECT CASE c.state WHEN 'done' THEN 'done' ELSE 'running' END, c.id, c.status
    FROM crossings c WHERE c.id = seen.id;
END $$;

-- Ends some crossings whose owners died or left. @returns how many
CREATE FUNCTION bury_crossings() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  ids  text[];
BEGIN
  ids := ARRAY(
    SELECT c.id FROM crossings c
     WHERE c.state IN ('claimed', 'sent') AND NOT is_replica(c.replica, c.key_hash)
     ORDER BY c.id LIMIT 500 FOR UPDATE SKIP LOCKED);
  PERFORM lose_crossings(ids);
  RETURN cardinality(ids);
END $$;

-- Ends the crossings that a living replica owns and does not know: the answer to its claim was lost. @returns how many
CREATE FUNCTION drop_crossings(p_replica text, p_key text, p_known text[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  ids  text[];
BEGIN
  -- Longer than a claim may take, and its answer.
  ids := ARRAY(
    SELECT c.id FROM crossings c
     WHERE c.replica = p_replica AND c.key_hash = hash_key(p_key) AND c.state IN ('claimed', 'sent')
       AND c.claimed_at < clock_timestamp() - interval '30 s' AND c.id <> ALL (p_known)
     ORDER BY c.id LIMIT 500 FOR UPDATE SKIP LOCKED);
  PERFORM lose_crossings(ids);
  RETURN cardinality(ids);
END $$;

-- Empties some outcomes whose time is over. The rows stay: nothing runs again. @returns how many
CREATE FUNCTION sweep_outcomes() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH old AS (
    SELECT id FROM crossings WHERE outcome IS NOT NULL AND settled_at < clock_timestamp() - outcome_life()
     LIMIT 500 FOR UPDATE SKIP LOCKED),
  gone AS (UPDATE crossings c SET outcome = NULL FROM old WHERE c.id = old.id RETURNING 1)
  SELECT count(*)::integer FROM gone $$;

REVOKE EXECUTE ON FUNCTION is_replica, is_running, lose_crossings, claim_crossing, send_crossing, settle_crossing,
  release_crossing, read_crossing, watch_crossings, cancel_crossing, bury_crossings, drop_crossings, sweep_outcomes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_crossing, send_crossing, settle_crossing, release_crossing, read_crossing, watch_crossings,
  cancel_crossing, bury_crossings, drop_crossings, sweep_outcomes TO sallyport_gates;
-- Core lists the calls; their outcomes are the gates' alone.
GRANT SELECT (id, session_id, key, kind, server, tool, credential_id, turn_id, agent, state, status, code, claimed_at, sent_at,
  settled_at, result_bytes) ON crossings TO sallyport_core;
