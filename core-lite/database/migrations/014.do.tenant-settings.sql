-- oldest-program: 0.1.0
-- What the operator sets for the whole installation, changed while it runs.

ALTER TABLE tenant
  -- A built-in model: the gates answer every call from it and reach no provider. Null: each model is called.
  ADD COLUMN fixture_model text CHECK (fixture_model LIKE 'fixture/%');

CREATE FUNCTION tell_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('tenant', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER UPDATE ON tenant
  FOR EACH ROW EXECUTE FUNCTION tell_tenant();

GRANT UPDATE (fixture_model) ON tenant TO sallyport_core;
