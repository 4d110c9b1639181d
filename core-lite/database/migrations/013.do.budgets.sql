-- oldest-program: 0.1.0
-- Budgets, the start of a call, and its settlement. What a call may cost is reserved in the transaction that starts it
-- and settled in the one that writes its row of the ledger; a gate that died is settled for by another one.
-- The gates write here through these functions alone: they have no right on the tables. The functions believe no figure:
-- each is checked, and a replica proves with its key that a call is its own, so that no gate can lower a counter.

-- A budget with `scope_value` '*' has one counter for each agent, session or turn.
CREATE TABLE budgets (
  id           text PRIMARY KEY,
  name         text NOT NULL UNIQUE,
  scope        text NOT NULL CHECK (scope IN ('tenant', 'agent', 'session', 'turn')),
  scope_value  text NOT NULL DEFAULT '*' CHECK (scope_value = '*' OR scope IN ('agent', 'session')),
  measure      text NOT NULL CHECK (measure IN ('cost_usd', 'tokens', 'requests')),
  amount       numeric(30, 10) NOT NULL CHECK (amount >= 0),
  period       text NOT NULL CHECK (period IN ('minute', 'day', 'month', 'lifetime')),
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now()
);

-- No foreign key to the budget: whoever removes one would have to lock its counters in an order of its own.
CREATE TABLE budget_counters (
  -- Budget, scope value and window in one: see budgets_of_calls.
  id            text PRIMARY KEY,
  budget_id     text NOT NULL,
  -- The agent, session or turn; '*' for the tenant.
  scope_value   text NOT NULL,
  window_start  timestamptz NOT NULL,
  measure       text NOT NULL,
  used          numeric(30, 10) NOT NULL DEFAULT 0,
  reserved      numeric(30, 10) NOT NULL DEFAULT 0
);
CREATE INDEX budget_counters_by_budget ON budget_counters (budget_id);

-- A process of a service. No row: it has left, or was declared dead.
CREATE TABLE replicas (
  id            text PRIMARY KEY,
  service       text NOT NULL,
  -- Of the key that it proves itself with.
  key_hash      bytea NOT NULL,
  started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  heard_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when it has been heard without a gap: who was away itself cannot say who else is.
  steady_since  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row for each model call that has started and is not in the ledger yet; its id will be the ledger row's.
CREATE TABLE reservations (
  id             text PRIMARY KEY,
  at             timestamptz NOT NULL,
  started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  replica        text NOT NULL,
  -- The replica's when it started: another one of the same name has no part in it.
  key_hash       bytea NOT NULL,
  session_id     text NOT NULL,
  turn_id        text NOT NULL,
  agent          text NOT NULL,
  model          text NOT NULL,
  upstream_name  text NOT NULL,
  provider       text,
  dialect        text NOT NULL,
  streamed       boolean NOT NULL,
  input_tokens   bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens  bigint NOT NULL CHECK (output_tokens >= 0),
  -- Null where the price is not known; then no money budget applies.
  cost_usd       numeric(30, 10) CHECK (cost_usd >= 0),
  -- The counters that hold it.
  counters       text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX reservations_by_replica ON reservations (replica);

CREATE FUNCTION tell_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('budget', COALESCE(NEW.id, OLD.id));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON budgets
  FOR EACH ROW EXECUTE FUNCTION tell_budget();

-- UTC's calendar, minutes by the clock.
CREATE FUNCTION budget_window(period text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE period WHEN 'lifetime' THEN 'epoch'::timestamptz ELSE date_trunc(period, at, 'UTC') END $$;

CREATE FUNCTION budget_reset(period text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE period WHEN 'lifetime' THEN NULL
    ELSE (date_trunc(period, at AT TIME ZONE 'UTC') + ('1 ' || period)::interval) AT TIME ZONE 'UTC' END $$;

-- Whether figures are some: null is one that nobody told. NaN and infinity are above every bound.
CREATE FUNCTION is_tokens(VARIADIC counts bigint[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(bool_and(n BETWEEN 0 AND 1000000000000), true) FROM unnest(counts) AS n $$;

CREATE FUNCTION is_cost(cost numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(round(cost, 10) BETWEEN 0 AND 9999999999, true) $$;

CREATE FUNCTION hash_key(key text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(convert_to(key, 'UTF8')) $$;

-- What a call takes of a counter; rounded as the ledger is, so that both have one sum.
CREATE FUNCTION budget_need(measure text, tokens bigint, cost_usd numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE measure WHEN 'requests' THEN 1 WHEN 'tokens' THEN tokens ELSE round(cost_usd, 10) END $$;

-- Starts calls together: the fence and, for those that spend, their reservations. The order of locks is the sessions
-- by id, then the counters by id; nobody takes them in another.
-- Answers the refused ones by their place, from 1; null where the replica was declared dead.
CREATE FUNCTION start_calls(
  p_replica text, p_key text, p_ids text[], p_at timestamptz[], p_sessions text[], p_turns text[], p_agents text[],
  p_epochs bigint[], p_spends boolean[], p_models text[], p_upstream_names text[], p_providers text[], p_dialects text[],
  p_streamed boolean[], p_input bigint[], p_output bigint[], p_costs numeric[]
) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  began    timestamptz := clock_timestamp();
  refused  jsonb := '{}';
  live     boolean[];
  ids      text[];
  rooms    numeric[];
  taken    numeric[];
  held     jsonb := '{}';
  short    integer;
  wish     record;
BEGIN
  IF NOT EXISTS (SELECT FROM replicas WHERE id = p_replica AND key_hash = hash_key(p_key)) THEN RETURN NULL; END IF;
  IF EXISTS (
    SELECT FROM unnest(p_ids, p_spends, p_input, p_output, p_costs) AS c(id, spends, input, output, cost)
     WHERE (c.id IS NOT NULL AND (NOT c.spends OR c.input IS NOT NULL AND c.output IS NOT NULL
       AND is_tokens(c.input, c.output) AND is_cost(c.cost))) IS NOT TRUE)
  THEN RAISE EXCEPTION 'figures that are none' USING ERRCODE = '23514'; END IF;
  PERFORM FROM sessions WHERE id = ANY (p_sessions) ORDER BY id FOR SHARE;
  -- A statement of its own: what waited for a lock must be read anew.
  SELECT array_agg(s.id IS NOT NULL ORDER BY c.n),
      coalesce(jsonb_object_agg(c.n, '{"reason": "run_stale"}'::jsonb) FILTER (WHERE s.id IS NULL), '{}')
    INTO live, refused
    FROM unnest(p_sessions, p_turns, p_epochs) WITH ORDINALITY AS c(session_id, turn_id, epoch, n)
    LEFT JOIN turns t ON t.id = c.turn_id AND t.session_id = c.session_id AND t.state = 'active'
    LEFT JOIN sessions s ON s.id = t.session_id AND s.lease_epoch = c.epoch AND s.ended_at IS NULL;

  IF EXISTS (SELECT FROM budgets) THEN
    ids := ARRAY(
      SELECT DISTINCT w.counter_id FROM budgets_of_calls(p_sessions, p_turns, p_agents, began) w
       WHERE p_spends[w.n] AND live[w.n] ORDER BY 1);
    IF (SELECT count(*) FROM budget_counters WHERE id = ANY (ids)) < cardinality(ids) THEN
      INSERT INTO budget_counters (id, budget_id, scope_value, window_start, measure)
        SELECT DISTINCT w.counter_id, w.budget_id, w.scope_value, w.window_start, w.measure
          FROM budgets_of_calls(p_sessions, p_turns, p_agents, began) w
         WHERE w.counter_id = ANY (ids) AND NOT EXISTS (SELECT FROM budget_counters k WHERE k.id = w.counter_id)
         ORDER BY 1
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM FROM budget_counters WHERE id = ANY (ids) ORDER BY id FOR UPDATE;
    SELECT array_agg(k.id ORDER BY k.id), array_agg(b.amount - k.used - k.reserved ORDER BY k.id), array_agg(0 ORDER BY k.id)
      INTO ids, rooms, taken
      FROM budget_counters k JOIN budgets b ON b.id = k.budget_id WHERE k.id = ANY (ids);
    FOR wish IN
      SELECT w.n, array_agg(w.counter_id ORDER BY w.counter_id) AS counters,
          array_agg(array_position(ids, w.counter_id) ORDER BY w.counter_id) AS places,
          array_agg(budget_need(w.measure, p_input[w.n] + p_output[w.n], p_costs[w.n]) ORDER BY w.counter_id) AS needs
        FROM budgets_of_calls(p_sessions, p_turns, p_agents, began) w
       WHERE p_spends[w.n] AND live[w.n] AND w.counter_id = ANY (ids)
       GROUP BY w.n ORDER BY w.n
    LOOP
      short := NULL;
      FOR i IN 1 .. cardinality(wish.places) LOOP
        IF wish.needs[i] <= rooms[wish.places[i]] THEN CONTINUE; END IF;
        short := i;
        EXIT;
      END LOOP;
      IF short IS NULL THEN
        FOR i IN 1 .. cardinality(wish.places) LOOP
          rooms[wish.places[i]] := rooms[wish.places[i]] - wish.needs[i];
          taken[wish.places[i]] := taken[wish.places[i]] + wish.needs[i];
        END LOOP;
        held := held || jsonb_build_object(wish.n, wish.counters);
      ELSE
        live[wish.n] := false;
        refused := refused || jsonb_build_object(wish.n, (
          SELECT jsonb_build_object(
              'reason', CASE WHEN wish.needs[short] IS NULL THEN 'price_unknown' ELSE 'budget' END,
              'budget', b.name, 'scope', b.scope, 'measure', b.measure, 'period', b.period, 'limit', b.amount,
              'used', k.used, 'reserved', k.reserved + taken[wish.places[short]], 'need', wish.needs[short],
              'resetsInMs', round(extract(epoch FROM budget_reset(b.period, began) - began) * 1000))
            FROM budget_counters k JOIN budgets b ON b.id = k.budget_id WHERE k.id = wish.counters[short]));
      END IF;
    END LOOP;
    UPDATE budget_counters k SET reserved = k.reserved + t.amount
      FROM unnest(ids, taken) AS t(id, amount) WHERE k.id = t.id AND t.amount > 0;
  END IF;

  INSERT INTO reservations (id, at, replica, key_hash, session_id, turn_id, agent, model, upstream_name, provider, dialect, streamed,
      input_tokens, output_tokens, cost_usd, counters)
    SELECT c.id, c.at, p_replica, hash_key(p_key), c.session_id, c.turn_id, c.agent, c.model, c.upstream_name, c.provider, c.dialect,
        c.streamed, c.input, c.output, c.cost, ARRAY(SELECT jsonb_array_elements_text(held -> c.n::text))
      FROM unnest(p_ids, p_at, p_sessions, p_turns, p_agents, p_models, p_upstream_names, p_providers, p_dialects,
          p_streamed, p_input, p_output, p_costs) WITH ORDINALITY
        AS c(id, at, session_id, turn_id, agent, model, upstream_name, provider, dialect, streamed, input, output, cost, n)
     WHERE p_spends[c.n] AND live[c.n];
  -- Whoever asked has given up by now: what it does not know of must not start.
  IF clock_timestamp() - began > interval '4 s' THEN RAISE EXCEPTION 'the start took too long' USING ERRCODE = '57014'; END IF;
  RETURN refused;
END $$;

-- The budgets that apply to calls, by the call's place, and the counter of each.
CREATE FUNCTION budgets_of_calls(p_sessions text[], p_turns text[], p_agents text[], p_now timestamptz)
RETURNS TABLE (n bigint, counter_id text, budget_id text, scope_value text, window_start timestamptz, measure text)
LANGUAGE sql STABLE AS $$
  SELECT c.n, concat_ws('/', b.id, extract(epoch FROM budget_window(b.period, p_now))::bigint, v.value),
      b.id, v.value, budget_window(b.period, p_now), b.measure
    FROM unnest(p_sessions, p_turns, p_agents) WITH ORDINALITY AS c(session_id, turn_id, agent, n)
    CROSS JOIN LATERAL (VALUES ('tenant', '*'), ('agent', c.agent), ('session', c.session_id), ('turn', c.turn_id))
      AS v(scope, value)
    JOIN budgets b ON b.scope = v.scope AND b.scope_value IN ('*', v.value) $$;

-- Settles calls, each named once: what they reserved is let go, what they are charged is used. `none`: they never reached
-- a provider, or it refused them. `counted`: these tokens and this cost. `reserved`: what was reserved of all that has no
-- figure. A call that has no reservation any more was settled before, and is charged nothing again.
-- Not for the gates: it asks neither whose the calls are nor what the figures hold.
CREATE FUNCTION settle_calls(p_ids text[], p_charges text[], p_input bigint[], p_output bigint[], p_costs numeric[])
RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  ids    text[];
  freed  numeric[];
  spent  numeric[];
BEGIN
  PERFORM FROM reservations r WHERE r.id = ANY (p_ids) ORDER BY r.id FOR UPDATE;
  SELECT array_agg(m.counter), array_agg(m.freed), array_agg(m.spent) INTO ids, freed, spent FROM (
    SELECT k.id AS counter,
        sum(budget_need(k.measure, r.input_tokens + r.output_tokens, coalesce(r.cost_usd, 0))) AS freed,
        sum(CASE c.charge WHEN 'none' THEN 0 ELSE budget_need(k.measure,
          coalesce(c.input, r.input_tokens) + coalesce(c.output, r.output_tokens), coalesce(c.cost, r.cost_usd, 0)) END) AS spent
      FROM unnest(p_ids, p_charges, p_input, p_output, p_costs) AS c(id, charge, input, output, cost)
      JOIN reservations r ON r.id = c.id
      JOIN budget_counters k ON k.id = ANY (r.counters)
     GROUP BY k.id) m;
  IF ids IS NOT NULL THEN
    PERFORM FROM budget_counters k WHERE k.id = ANY (ids) ORDER BY k.id FOR UPDATE;
    UPDATE budget_counters k SET reserved = k.reserved - m.freed, used = k.used + m.spent
      FROM unnest(ids, freed, spent) AS m(id, freed, spent) WHERE k.id = m.id;
  END IF;
  DELETE FROM reservations r WHERE r.id = ANY (p_ids);
END $$;

-- Writes the rows of a replica's calls and settles those that it started. Of these, whose a call was and when stands in
-- the reservation, and the reserved figures are in the row where none are told; a call of another replica is left alone.
-- A batch whose answer was lost is sent again: what is there already stays.
CREATE FUNCTION record_calls(
  p_replica text, p_key text, p_ids text[], p_at timestamptz[], p_sessions text[], p_turns text[], p_agents text[],
  p_models text[], p_upstream_names text[], p_providers text[], p_dialects text[], p_streamed boolean[], p_statuses integer[],
  p_outcomes text[], p_charges text[], p_input bigint[], p_output bigint[], p_cached bigint[], p_cache_write bigint[],
  p_reasoning bigint[], p_costs numeric[], p_duplicate boolean[], p_client_sessions text[], p_client_agents text[],
  p_client_parents text[], p_first_byte_ms bigint[], p_duration_ms bigint[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  own    text[];
  alien  text[];
BEGIN
  IF EXISTS (
    SELECT FROM unnest(p_ids, p_charges, p_input, p_output, p_cached, p_cache_write, p_reasoning, p_costs, p_first_byte_ms,
        p_duration_ms) AS c(id, charge, input, output, cached, cache_write, reasoning, cost, first_byte_ms, duration_ms)
     WHERE (c.id IS NOT NULL AND c.charge IN ('none', 'counted', 'reserved')
       AND (c.charge <> 'counted' OR c.input IS NOT NULL AND c.output IS NOT NULL)
       AND is_tokens(c.input, c.output, c.cached, c.cache_write, c.reasoning, c.first_byte_ms, c.duration_ms)
       AND is_cost(c.cost)) IS NOT TRUE)
    OR (SELECT count(DISTINCT id) FROM unnest(p_ids) AS id) < cardinality(p_ids)
  THEN RAISE EXCEPTION 'figures that are none' USING ERRCODE = '23514'; END IF;
  PERFORM FROM reservations r WHERE r.id = ANY (p_ids) ORDER BY r.id FOR UPDATE;
  SELECT coalesce(array_agg(r.id) FILTER (WHERE m.mine), '{}'), coalesce(array_agg(r.id) FILTER (WHERE NOT m.mine), '{}')
    INTO own, alien
    FROM reservations r, LATERAL (
      SELECT coalesce(r.replica = p_replica AND r.key_hash = hash_key(p_key), false) AS mine) m
   WHERE r.id = ANY (p_ids);
  INSERT INTO model_usage (id, at, session_id, turn_id, agent, model, upstream_name, provider, dialect, streamed, status,
      outcome, input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_usd, duplicate,
      presumed, client_session, client_agent, client_parent_agent, first_byte_ms, duration_ms, replica)
    SELECT c.id, coalesce(r.at, c.at), coalesce(r.session_id, c.session_id), coalesce(r.turn_id, c.turn_id),
        coalesce(r.agent, c.agent), coalesce(r.model, c.model), c.upstream_name, c.provider,
        coalesce(r.dialect, c.dialect), coalesce(r.streamed, c.streamed), c.status, c.outcome,
        coalesce(c.input, r.input_tokens * p.presumed), coalesce(c.output, r.output_tokens * p.presumed),
        c.cached, c.cache_write, c.reasoning, coalesce(c.cost, r.cost_usd * p.presumed), c.duplicate,
        p.presumed IS NOT NULL, c.client_session, c.client_agent, c.client_parent, c.first_byte_ms, c.duration_ms, p_replica
      FROM unnest(p_ids, p_at, p_sessions, p_turns, p_agents, p_models, p_upstream_names, p_providers, p_dialects,
          p_streamed, p_statuses, p_outcomes, p_charges, p_input, p_output, p_cached, p_cache_write, p_reasoning, p_costs,
          p_duplicate, p_client_sessions, p_client_agents, p_client_parents, p_first_byte_ms, p_duration_ms)
        AS c(id, at, session_id, turn_id, agent, model, upstream_name, provider, dialect, streamed, status, outcome, charge,
          input, output, cached, cache_write, reasoning, cost, duplicate, client_session, client_agent, client_parent,
          first_byte_ms, duration_ms)
      LEFT JOIN reservations r ON r.id = c.id
      -- One where the reserved figures stand in for those that nobody told, null where they do not.
      CROSS JOIN LATERAL (SELECT CASE WHEN r.id IS NOT NULL AND c.charge = 'reserved' THEN 1 END AS presumed) p
     WHERE c.id <> ALL (alien)
    ON CONFLICT DO NOTHING;
  IF own = '{}' THEN RETURN; END IF;
  PERFORM settle_calls(array_agg(c.id), array_agg(c.charge), array_agg(c.input), array_agg(c.output), array_agg(c.cost))
    FROM unnest(p_ids, p_charges, p_input, p_output, p_costs) AS c(id, charge, input, output, cost)
   WHERE c.id = ANY (own);
END $$;

-- A replica begins, or begins anew after it was declared dead.
CREATE FUNCTION join_replicas(p_replica text, p_service text, p_key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO replicas (id, service, key_hash) VALUES (p_replica, p_service, hash_key(p_key))
    ON CONFLICT (id) DO UPDATE SET heard_at = clock_timestamp(), steady_since = clock_timestamp()
      WHERE replicas.key_hash = EXCLUDED.key_hash;
  IF NOT FOUND THEN RAISE EXCEPTION 'this replica has another key' USING ERRCODE = '42501'; END IF;
END $$;

-- Its heartbeat, every 5 seconds. @returns whether it still counts as alive
CREATE FUNCTION hear_replica(p_replica text, p_key text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH heard AS (
    UPDATE replicas SET heard_at = clock_timestamp(),
        steady_since = CASE WHEN clock_timestamp() - heard_at > interval '9 s' THEN clock_timestamp() ELSE steady_since END
      WHERE id = p_replica AND key_hash = hash_key(p_key) RETURNING id)
  SELECT EXISTS (SELECT FROM heard) $$;

CREATE FUNCTION leave_replicas(p_replica text, p_key text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM replicas WHERE id = p_replica AND key_hash = hash_key(p_key) $$;

-- Declares dead who was not heard for 15 seconds, if the caller itself was heard all the while, and settles some calls
-- of the dead and of those who left: charged as reserved, in the ledger as `gate_died`. @returns how many
CREATE FUNCTION bury_replicas(p_replica text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  ids  text[];
BEGIN
  DELETE FROM replicas WHERE id IN (
    SELECT d.id FROM replicas d
     WHERE d.heard_at < clock_timestamp() - interval '15 s'
       AND EXISTS (SELECT FROM replicas s WHERE s.id = p_replica AND s.steady_since < clock_timestamp() - interval '15 s'
         AND s.heard_at > clock_timestamp() - interval '9 s')
     ORDER BY d.id FOR UPDATE SKIP LOCKED);
  ids := ARRAY(
    SELECT r.id FROM reservations r WHERE NOT EXISTS (
       SELECT FROM replicas l WHERE l.id = r.replica AND l.key_hash = r.key_hash)
     ORDER BY r.id LIMIT 500 FOR UPDATE SKIP LOCKED);
  IF ids = '{}' THEN RETURN 0; END IF;
  INSERT INTO model_usage (id, at, session_id, turn_id, agent, model, upstream_name, provider, dialect, streamed, outcome,
      input_tokens, output_tokens, cost_usd, presumed, duration_ms, replica)
    SELECT r.id, r.at, r.session_id, r.turn_id, r.agent, r.model, r.upstream_name, r.provider, r.dialect, r.streamed,
        'gate_died', r.input_tokens, r.output_tokens, r.cost_usd, true,
        greatest(0, extract(epoch FROM clock_timestamp() - r.at) * 1000)::bigint, r.replica
      FROM reservations r WHERE r.id = ANY (ids)
    ON CONFLICT DO NOTHING;
  PERFORM settle_calls(ids, array_fill('reserved'::text, ARRAY[cardinality(ids)]), NULL, NULL, NULL);
  RETURN cardinality(ids);
END $$;

-- Deletes some counters that nobody will ask for again. @returns how many
CREATE FUNCTION sweep_counters() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH old AS (
    SELECT k.id FROM budget_counters k LEFT JOIN budgets b ON b.id = k.budget_id
     WHERE k.reserved = 0 AND CASE
       WHEN b.id IS NULL THEN true
       WHEN b.period = 'minute' THEN k.window_start < now() - interval '1 hour'
       WHEN b.period = 'day' THEN k.window_start < now() - interval '40 days'
       WHEN b.period = 'month' THEN k.window_start < now() - interval '400 days'
       WHEN b.scope = 'turn' THEN EXISTS (
         SELECT FROM turns t WHERE t.id = k.scope_value AND t.ended_at < now() - interval '40 days')
       WHEN b.scope = 'session' THEN EXISTS (
         SELECT FROM sessions s WHERE s.id = k.scope_value AND s.ended_at < now() - interval '40 days')
       ELSE false END
     LIMIT 1000 FOR UPDATE OF k SKIP LOCKED),
  gone AS (DELETE FROM budget_counters WHERE id IN (SELECT id FROM old) RETURNING 1)
  SELECT count(*)::integer FROM gone $$;

REVOKE EXECUTE ON FUNCTION start_calls, settle_calls, record_calls, join_replicas, hear_replica, leave_replicas,
  bury_replicas, sweep_counters FROM PUBLIC;
GRANT EXECUTE ON FUNCTION start_calls, record_calls, join_replicas, hear_replica, leave_replicas, bury_replicas,
  sweep_counters TO sallyport_gates;
REVOKE INSERT ON model_usage FROM sallyport_gates;
GRANT SELECT, INSERT, UPDATE, DELETE ON budgets TO sallyport_core;
GRANT SELECT ON budget_counters, reservations, replicas TO sallyport_core;
