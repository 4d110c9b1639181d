-- oldest-program: 0.1.0
-- The change feed's notices, written by the database in the transaction of the change, whoever makes it.
-- A payload is `kind id`. Only rare changes are told: never a call, never a record.

CREATE FUNCTION tell_change(kind text, id text) RETURNS void LANGUAGE sql AS
  $$ SELECT pg_notify('sallyport_changes', kind || ' ' || id) $$;

CREATE FUNCTION tell_environment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('environment', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE ON environments
  FOR EACH ROW EXECUTE FUNCTION tell_environment();

CREATE FUNCTION tell_binding() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('environment', COALESCE(NEW.environment_id, OLD.environment_id));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON environment_credentials
  FOR EACH ROW EXECUTE FUNCTION tell_binding();

-- A credential's change is a change of every environment that is bound to it.
CREATE FUNCTION tell_credential() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('credential', COALESCE(NEW.id, OLD.id));
  PERFORM tell_change('environment', environment_id)
    FROM environment_credentials WHERE credential_id = COALESCE(NEW.id, OLD.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON credentials
  FOR EACH ROW EXECUTE FUNCTION tell_credential();

CREATE FUNCTION tell_signing_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('signing_key', COALESCE(NEW.kid, OLD.kid));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON signing_keys
  FOR EACH ROW EXECUTE FUNCTION tell_signing_key();

CREATE FUNCTION tell_authority() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('authority', COALESCE(NEW.id, OLD.id));
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON authorities
  FOR EACH ROW EXECUTE FUNCTION tell_authority();
