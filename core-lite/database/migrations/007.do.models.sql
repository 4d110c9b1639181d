-- oldest-program: 0.1.0
-- Models: the catalogue that the operator writes, and what every call used. Usage is append-only, like every record.

CREATE TABLE models (
  name           text PRIMARY KEY,
  dialects       text[] NOT NULL CHECK (cardinality(dialects) > 0 AND dialects <@ ARRAY['openai', 'anthropic']),
  base_url       text NOT NULL,
  upstream_name  text NOT NULL,
  -- No foreign key: the gates answer `credential_missing` for one that is gone, and never call without it.
  credential_id  text,
  created_at     timestamptz NOT NULL DEFAULT now(),
  updated_at     timestamptz NOT NULL DEFAULT now()
);

-- Tokens as the provider counted them, null where it did not say. `input_tokens` is all that the model read, of which
-- `cached_tokens` came from the provider's cache and `cache_write_tokens` went into it; `output_tokens` is all that it
-- wrote, of which `reasoning_tokens` were not shown. The dialects count differently; here it is one count.
CREATE TABLE model_usage (
  id                  text PRIMARY KEY,
  at                  timestamptz NOT NULL,
  session_id          text NOT NULL,
  turn_id             text NOT NULL,
  agent               text NOT NULL,
  model               text NOT NULL,
  upstream_name       text NOT NULL,
  dialect             text NOT NULL,
  streamed            boolean NOT NULL,
  -- What the caller got; null where it left before there was anything.
  status              integer,
  outcome             text NOT NULL,
  input_tokens        bigint,
  output_tokens       bigint,
  cached_tokens       bigint,
  cache_write_tokens  bigint,
  reasoning_tokens    bigint,
  first_byte_ms       bigint,
  duration_ms         bigint NOT NULL,
  replica             text NOT NULL
);
-- Ids are UUIDv7: (session, id) is also (session, time).
CREATE INDEX model_usage_by_session ON model_usage (session_id, id);
CREATE INDEX model_usage_by_time ON model_usage (at);

CREATE FUNCTION tell_model() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('model', COALESCE(NEW.name, OLD.name));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON models
  FOR EACH ROW EXECUTE FUNCTION tell_model();

GRANT SELECT, INSERT, UPDATE, DELETE ON models TO sallyport_core;
GRANT SELECT ON model_usage TO sallyport_core;
GRANT SELECT ON models TO sallyport_gates;
GRANT INSERT ON model_usage TO sallyport_gates;
-- A manifest names a credential as vault/name.
GRANT SELECT (id, name) ON vaults TO sallyport_gates;
