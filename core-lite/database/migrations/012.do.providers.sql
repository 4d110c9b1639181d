-- oldest-program: 0.1.0
-- Models by provider, in more dialects, with what their calls may cost at most and what is called in their place; and
-- what the ledger says more of a call.

ALTER TABLE models
  DROP CONSTRAINT models_dialects_check,
  -- A name of core-lite/providers/; `custom` is any server that speaks one of the dialects.
  ADD COLUMN provider text NOT NULL DEFAULT 'custom',
  -- What is reserved for the output of a call that names no limit.
  ADD COLUMN default_max_tokens integer CHECK (default_max_tokens > 0),
  -- Names of the catalogue, tried in their order while nothing of an answer went out.
  ADD COLUMN fallbacks text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT models_dialects_check CHECK (cardinality(dialects) > 0
    AND dialects <@ ARRAY['openai', 'responses', 'embeddings', 'anthropic', 'gemini']);

ALTER TABLE model_usage
  -- Null in rows that were written before there were providers.
  ADD COLUMN provider text,
  -- In US dollars, from the provider's list prices; null where tokens or prices are not known.
  ADD COLUMN cost_usd numeric(20, 10),
  -- The call ran before and its outcome was lost: the provider may have charged twice.
  ADD COLUMN duplicate boolean NOT NULL DEFAULT false,
  -- The gate died in the middle: these are the reserved figures, not counted ones.
  ADD COLUMN presumed boolean NOT NULL DEFAULT false,
  -- What the client said of itself: hints, nothing is decided by them.
  ADD COLUMN client_session text,
  ADD COLUMN client_agent text,
  ADD COLUMN client_parent_agent text;
