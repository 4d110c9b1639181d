-- oldest-program: 0.1.0
-- Least rights. The roles themselves are made before the migrations run (core-lite/database/roles.ts).
-- One broken service is not all of them: egress cannot read a model key or a signing key, nor change a record.

GRANT SELECT ON schemaversion, program_requirement, tenant TO sallyport_core, sallyport_gates, sallyport_egress;

GRANT SELECT, UPDATE ON class_keys TO sallyport_core;
GRANT SELECT ON class_keys TO sallyport_gates, sallyport_egress;
ALTER TABLE class_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY core ON class_keys TO sallyport_core USING (class IN ('signing', 'gates', 'egress'));
CREATE POLICY gates ON class_keys FOR SELECT TO sallyport_gates USING (class = 'gates');
CREATE POLICY egress ON class_keys FOR SELECT TO sallyport_egress USING (class = 'egress');

GRANT SELECT, INSERT, UPDATE ON admin_keys TO sallyport_core;
GRANT SELECT, INSERT ON admin_events TO sallyport_core;

GRANT SELECT, INSERT, UPDATE ON signing_keys TO sallyport_core;
GRANT SELECT (kid, state, public_jwk) ON signing_keys TO sallyport_gates, sallyport_egress;

-- The CA's key is for egress alone; its certificate is public.
GRANT SELECT ON authorities TO sallyport_egress;
GRANT SELECT (id, state, certificate, created_at) ON authorities TO sallyport_core;

GRANT SELECT, INSERT, UPDATE, DELETE ON vaults, credentials TO sallyport_core;
GRANT SELECT ON credentials TO sallyport_gates, sallyport_egress;
ALTER TABLE credentials ENABLE ROW LEVEL SECURITY;
CREATE POLICY core ON credentials TO sallyport_core USING (true);
CREATE POLICY gates ON credentials FOR SELECT TO sallyport_gates
  USING (kind IN ('model_key', 'bearer', 'headers', 'oauth'));
CREATE POLICY egress ON credentials FOR SELECT TO sallyport_egress USING (kind = 'environment_secret');

GRANT SELECT, INSERT, UPDATE ON environments TO sallyport_core;
GRANT SELECT, INSERT, DELETE ON environment_credentials TO sallyport_core;
GRANT SELECT ON environments, environment_credentials TO sallyport_egress;

GRANT SELECT ON connections, connection_ends, refusal_counts TO sallyport_core;
GRANT INSERT ON connections, connection_ends, refusal_counts TO sallyport_egress;
