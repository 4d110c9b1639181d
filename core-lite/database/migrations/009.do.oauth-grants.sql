-- oldest-program: 0.1.0
-- Current tokens of oauth credentials that have a variable: those are put on requests by egress, like environment
-- secrets. One without a variable stays the gates'.

-- One row a credential, made when its first token is asked for. `version` grows with every token that it ever had.
CREATE TABLE oauth_grants (
  credential_id       text PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
  -- Which version of the credential the tokens are of: the trigger below lets go of those of an older one.
  credential_version  integer NOT NULL,
  version             integer NOT NULL DEFAULT 0,
  sealed_access       bytea,
  -- The refresh token that the provider gave last; without one the credential's own is used.
  sealed_refresh      bytea,
  refresh_at          timestamptz,
  expires_at          timestamptz,
  -- An origin answered 401 to this token.
  stale               boolean NOT NULL DEFAULT false,
  staled_at           timestamptz,
  -- Who is asking for the next token, and until when nobody else does.
  claimed_by          text,
  claimed_until       timestamptz,
  -- Why the last attempt gave no token; null after one that did.
  failure             text,
  failures            integer NOT NULL DEFAULT 0,
  retry_at            timestamptz
);

DROP POLICY gates ON credentials;
CREATE POLICY gates ON credentials FOR SELECT TO sallyport_gates
  USING (kind IN ('model_key', 'bearer', 'headers') OR (kind = 'oauth' AND NOT settings ? 'variable'));
DROP POLICY egress ON credentials;
CREATE POLICY egress ON credentials FOR SELECT TO sallyport_egress
  USING (kind = 'environment_secret' OR (kind = 'oauth' AND settings ? 'variable'));

GRANT SELECT (credential_id, credential_version, version, expires_at, stale, failure, retry_at)
  ON oauth_grants TO sallyport_core;
-- For the trigger, which acts as whoever changes a credential: core takes a grant away, and writes none.
GRANT UPDATE (credential_version, sealed_access, sealed_refresh, refresh_at, expires_at, stale, staled_at, claimed_by,
  claimed_until, failure, failures, retry_at) ON oauth_grants TO sallyport_core;
GRANT SELECT, INSERT, UPDATE ON oauth_grants TO sallyport_egress;
ALTER TABLE oauth_grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY core ON oauth_grants TO sallyport_core USING (true);
-- Judged by what the role sees of the credentials.
CREATE POLICY egress ON oauth_grants TO sallyport_egress
  USING (EXISTS (SELECT FROM credentials c WHERE c.id = credential_id));

-- A credential that is put or rotated begins anew: no token and no failure of the old one counts.
CREATE FUNCTION discard_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE oauth_grants SET credential_version = NEW.version, sealed_access = NULL, sealed_refresh = NULL,
      refresh_at = NULL, expires_at = NULL, stale = false, staled_at = NULL, claimed_by = NULL, claimed_until = NULL,
      failure = NULL, failures = 0, retry_at = NULL
    WHERE credential_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER discard_grant AFTER UPDATE OF version ON credentials
  FOR EACH ROW WHEN (OLD.version IS DISTINCT FROM NEW.version) EXECUTE FUNCTION discard_grant();

-- Replicas learn of a new token, a stale one and a failure; a claim concerns nobody.
CREATE FUNCTION tell_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change('credential', NEW.credential_id);
  RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER UPDATE ON oauth_grants FOR EACH ROW
  WHEN ((OLD.version, OLD.stale, OLD.expires_at, OLD.retry_at) IS DISTINCT FROM
        (NEW.version, NEW.stale, NEW.expires_at, NEW.retry_at))
  EXECUTE FUNCTION tell_grant();
