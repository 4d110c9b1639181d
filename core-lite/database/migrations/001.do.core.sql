-- oldest-program: 0.1.0
-- The core: who may change what, the keys, the vault, the environments.
-- Rights are in 003, notices in 004. Sealed columns hold AES-256-GCM ciphertext bound to their row (core-lite/vault/seal.ts).

-- The oldest program that may run on this database: the highest `oldest-program` of the migrations applied.
CREATE TABLE program_requirement (
  singleton       boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  oldest_program  text NOT NULL
);

CREATE TABLE tenant (
  id          text PRIMARY KEY,
  singleton   boolean NOT NULL DEFAULT true UNIQUE CHECK (singleton),
  created_at  timestamptz NOT NULL DEFAULT now()
);

-- The keys that seal: one for each class of secrets, each wrapped by the master key.
CREATE TABLE class_keys (
  class          text PRIMARY KEY CHECK (class IN ('signing', 'gates', 'egress')),
  key_id         text NOT NULL UNIQUE,
  master_key_id  text NOT NULL,
  wrapped        bytea NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  wrapped_at     timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE admin_keys (
  id          text PRIMARY KEY,
  name        text NOT NULL,
  hash        bytea NOT NULL UNIQUE,
  created_at  timestamptz NOT NULL DEFAULT now(),
  revoked_at  timestamptz
);

CREATE TABLE admin_events (
  id          text PRIMARY KEY,
  at          timestamptz NOT NULL DEFAULT now(),
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  detail      jsonb NOT NULL DEFAULT '{}'
);

-- A current key signs and verifies, a previous one only verifies, a revoked one does neither.
CREATE TABLE signing_keys (
  kid             text PRIMARY KEY,
  state           text NOT NULL CHECK (state IN ('current', 'previous', 'revoked')),
  public_jwk      jsonb NOT NULL,
  sealed_private  bytea,
  imported        boolean NOT NULL DEFAULT false,
  created_at      timestamptz NOT NULL DEFAULT now(),
  revoked_at      timestamptz,
  CHECK (state <> 'current' OR sealed_private IS NOT NULL)
);
CREATE UNIQUE INDEX one_current_signing_key ON signing_keys (state) WHERE state = 'current';

CREATE TABLE authorities (
  id              text PRIMARY KEY,
  state           text NOT NULL CHECK (state IN ('current', 'previous')),
  certificate     text NOT NULL,
  sealed_private  bytea NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX one_current_authority ON authorities (state) WHERE state = 'current';

CREATE TABLE vaults (
  id          text PRIMARY KEY,
  name        text NOT NULL UNIQUE,
  created_at  timestamptz NOT NULL DEFAULT now()
);

-- `settings` holds what may be read (a variable's name, a header's format); every secret part is in `sealed`.
CREATE TABLE credentials (
  id          text PRIMARY KEY,
  vault_id    text NOT NULL REFERENCES vaults,
  name        text NOT NULL,
  kind        text NOT NULL CHECK (kind IN
                ('model_key', 'bearer', 'headers', 'oauth', 'environment_secret', 'environment_variable')),
  hosts       text[] NOT NULL CHECK (cardinality(hosts) > 0),
  owner_user  text,
  settings    jsonb NOT NULL DEFAULT '{}',
  sealed      bytea NOT NULL,
  version     integer NOT NULL DEFAULT 1,
  created_at  timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  UNIQUE (vault_id, name)
);

CREATE TABLE environments (
  id               text PRIMARY KEY,
  name             text NOT NULL,
  kind             text NOT NULL CHECK (kind IN ('pod', 'virtual', 'none')),
  mode             text NOT NULL CHECK (mode IN ('enforce', 'report')),
  allow            text[] NOT NULL DEFAULT '{}',
  max_connections  integer NOT NULL CHECK (max_connections >= 0),
  new_per_second   integer NOT NULL CHECK (new_per_second >= 0),
  host_epoch       bigint NOT NULL DEFAULT 0,
  pod_uid          text,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  deleted_at       timestamptz
);
CREATE UNIQUE INDEX one_live_environment_of_a_name ON environments (name) WHERE deleted_at IS NULL;

-- Which environment secrets an environment is bound to.
CREATE TABLE environment_credentials (
  environment_id  text NOT NULL REFERENCES environments,
  credential_id   text NOT NULL REFERENCES credentials,
  PRIMARY KEY (environment_id, credential_id)
);
CREATE INDEX environment_credentials_by_credential ON environment_credentials (credential_id);
