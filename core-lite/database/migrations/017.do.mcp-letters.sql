-- oldest-program: 0.1.0
-- What one gate has to tell another of an MCP session: an answer of the client, or a cancellation, that came to a gate
-- which the call does not run at. Rare: a client mostly keeps to one. Sealed, and gone when it was read or is old.

CREATE TABLE mcp_letters (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  -- A gate's name, or 'all'.
  addressee   text NOT NULL CHECK (addressee ~ '^[a-z0-9_]{1,64}$'),
  sealed      bytea NOT NULL,
  written_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION tell_mcp_letter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('mcp_letter', NEW.addressee || ':' || NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT ON mcp_letters
  FOR EACH ROW EXECUTE FUNCTION tell_mcp_letter();

GRANT SELECT, INSERT, DELETE ON mcp_letters TO sallyport_gates;
