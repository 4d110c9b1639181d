/**
 * What each role may do, as the database itself says it and as statements meet it. The matrix is written out and must
 * be the whole truth: a table, a column or a right that is not here is a failure.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Role } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { putEnvironment } from '../../../core-lite/state/environment-store.ts';
import {
  CREDENTIAL_KINDS,
  type CredentialInput,
  parseCredential,
} from '../../../core-lite/vault/credential.ts';
import { findCredential, putCredential, putVault } from '../../../core-lite/vault/credential-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

let installation: Installation;
let as: Record<Role, Database>;
const ROLES: readonly Role[] = ['sallyport_core', 'sallyport_gates', 'sallyport_egress'];

/** Table: what core, gates and egress may. A list in brackets is the columns, where it is not all of them. */
const MATRIX: Readonly<Record<string, readonly [core: string, gates: string, egress: string]>> = {
  schemaversion: ['SELECT', 'SELECT', 'SELECT'],
  program_requirement: ['SELECT', 'SELECT', 'SELECT'],
  tenant: ['SELECT UPDATE(fixture_model)', 'SELECT', 'SELECT'],
  class_keys: ['SELECT UPDATE', 'SELECT', 'SELECT'],
  admin_keys: ['SELECT INSERT UPDATE', '', ''],
  admin_events: ['SELECT INSERT', '', ''],
  signing_keys: ['SELECT INSERT UPDATE', 'SELECT(kid,public_jwk,state)', 'SELECT(kid,public_jwk,state)'],
  authorities: ['SELECT(certificate,created_at,id,state)', '', 'SELECT'],
  vaults: ['SELECT INSERT UPDATE DELETE', 'SELECT(id,name)', ''],
  credentials: ['SELECT INSERT UPDATE DELETE', 'SELECT', 'SELECT'],
  oauth_grants: [
    'SELECT(credential_id,credential_version,expires_at,failure,retry_at,stale,version) ' +
      'UPDATE(claimed_by,claimed_until,credential_version,expires_at,failure,failures,refresh_at,retry_at,' +
      'sealed_access,sealed_refresh,stale,staled_at)',
    '',
    'SELECT INSERT UPDATE',
  ],
  environments: ['SELECT INSERT UPDATE', '', 'SELECT'],
  environment_credentials: ['SELECT INSERT DELETE', '', 'SELECT'],
  connections: ['SELECT', '', 'INSERT'],
  connection_ends: ['SELECT', '', 'INSERT'],
  refusal_counts: ['SELECT', '', 'INSERT'],
  exchanges: ['SELECT', '', 'INSERT'],
  sessions: [
    'SELECT INSERT UPDATE(ended_at,lease_epoch)',
    'SELECT',
    'SELECT(ended_at,environment_id,id,lease_epoch)',
  ],
  turns: ['SELECT INSERT UPDATE(ended_at,state)', 'SELECT', 'SELECT(id,session_id,state)'],
  leases: ['SELECT INSERT UPDATE(heard_at)', '', ''],
  models: ['SELECT INSERT UPDATE DELETE', 'SELECT', ''],
  // The gates reach these through functions alone.
  model_usage: ['SELECT', '', ''],
  budgets: ['SELECT INSERT UPDATE DELETE', '', ''],
  budget_counters: ['SELECT', '', ''],
  reservations: ['SELECT', '', ''],
  replicas: ['SELECT', '', ''],
  crossings: [
    'SELECT(agent,claimed_at,code,credential_id,id,key,kind,result_bytes,sent_at,server,session_id,settled_at,state,status,' +
      'tool,turn_id)',
    '',
    '',
  ],
  mcp_letters: ['', 'SELECT INSERT DELETE', ''],
  mcp_sessions: ['', 'SELECT INSERT UPDATE DELETE', ''],
  mcp_upstreams: ['', 'SELECT INSERT DELETE UPDATE(generation,link,touched)', ''],
  mcp_tools: ['', 'SELECT INSERT DELETE', ''],
};

beforeAll(async () => {
  installation = await createInstallation();
  as = {
    sallyport_core: installation.as('sallyport_core'),
    sallyport_gates: installation.as('sallyport_gates'),
    sallyport_egress: installation.as('sallyport_egress'),
  };
  await installation.owner.transaction(async (tx) => {
    await putVault(tx, 'all');
    for (const kind of CREDENTIAL_KINDS) {
      await putCredential(
        tx,
        installation.seals,
        'all',
        kind.replace('_', '-'),
        parseCredential(ONE_OF_EACH[kind]),
      );
    }
    const bound = { ...ONE_OF_EACH.oauth, variable: 'TOKEN' };
    const { id } = await putCredential(tx, installation.seals, 'all', 'bound', parseCredential(bound));
    const { id: other } = await findCredential(tx, 'all', 'oauth');
    await tx.query('INSERT INTO oauth_grants (credential_id, credential_version) VALUES ($1, 1), ($2, 1)', [
      id,
      other,
    ]);
    await putEnvironment(tx, 'e', { ...ENVIRONMENT, credentials: ['all/environment-secret'] });
    await tx.query(
      `INSERT INTO connections VALUES ('con_1', now(), 'e', 't', 'p', null, null, 'r', 's', 'h', 443, 'allowed', 'allowlisted')`,
    );
    await tx.query(
      `INSERT INTO connection_ends VALUES ('con_1', now(), 'allowed', 'client_closed', '{}', null, 0, 0, 0)`,
    );
    await tx.query(`INSERT INTO refusal_counts VALUES ('ref_1', now(), 'r', 's', null, 'token_missing', 1)`);
    await tx.query(
      `INSERT INTO admin_events (id, actor, action, subject) VALUES ('aev_1', 'a', 'x.put', 'x')`,
    );
  });
});

afterAll(() => installation?.close());

describe('the matrix', () => {
  it('names every table, view and sequence', async () => {
    const rows = await installation.owner.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('i', 't') ORDER BY 1`,
    );
    expect(rows.map((row) => row.name)).toEqual(Object.keys(MATRIX).sort());
  });

  it.each(ROLES)('is what the database grants %s', async (role) => {
    const place = ROLES.indexOf(role);
    const expected = Object.fromEntries(
      Object.entries(MATRIX).map(([table, rights]) => [table, rights[place]]),
    );
    expect(await rightsOf(role)).toEqual(expected);
  });

  it('leaves nothing to everybody', async () => {
    const rows = await installation.owner.query(
      `SELECT relname FROM pg_class, aclexplode(relacl) WHERE relnamespace = 'public'::regnamespace AND grantee = 0`,
    );
    expect(rows).toEqual([]);
  });

  it.each(ROLES)('%s owns nothing, cannot log in, and is a member of nothing', async (role) => {
    const [row] = await installation.owner.query(
      `SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolcanlogin, rolreplication,
         (SELECT count(*)::int FROM pg_auth_members WHERE member = r.oid) AS memberships,
         (SELECT count(*)::int FROM pg_class WHERE relowner = r.oid) AS owned
       FROM pg_roles r WHERE rolname = $1`,
      [role],
    );
    expect(Object.values(row ?? {}).every((value) => value === false || value === 0)).toBe(true);
  });
});

describe('rows', () => {
  it.each<[role: Role, kinds: readonly string[]]>([
    ['sallyport_core', [...CREDENTIAL_KINDS, 'oauth bound'].sort()],
    ['sallyport_gates', ['bearer', 'headers', 'model_key', 'oauth']],
    ['sallyport_egress', ['environment_secret', 'oauth bound']],
  ])('%s sees these credentials: %j', async (role, kinds) => {
    const rows = await as[role].query<{ kind: string; settings: object }>(
      'SELECT kind, settings FROM credentials',
    );
    const seen = rows.map(({ kind, settings }) =>
      kind === 'oauth' && 'variable' in settings ? 'oauth bound' : kind,
    );
    expect(seen.sort()).toEqual(kinds);
  });

  it('sallyport_egress sees, makes and changes current tokens of bound oauth credentials alone', async () => {
    const egress = as.sallyport_egress;
    const { owner } = installation;
    const rows = await egress.query('SELECT credential_id FROM oauth_grants');
    expect(rows).toHaveLength(1);
    expect(await egress.query('UPDATE oauth_grants SET failures = 1 RETURNING 1')).toHaveLength(1);
    const kept = await owner.query(
      `DELETE FROM oauth_grants g USING credentials c WHERE c.id = g.credential_id RETURNING c.name, g.failures`,
    );
    expect(kept).toEqual(
      expect.arrayContaining([
        { name: 'bound', failures: 1 },
        { name: 'oauth', failures: 0 },
      ]),
    );
    for (const { id, name } of await owner.query<{ id: string; name: string }>(
      'SELECT id, name FROM credentials',
    )) {
      const made = egress.query(
        'INSERT INTO oauth_grants (credential_id, credential_version) VALUES ($1, 1)',
        [id],
      );
      if (name === 'bound' || name === 'environment-secret') await made;
      else await expect(made).rejects.toMatchObject({ code: 'database_rights' });
    }
  });

  it.each<[role: Role, classes: readonly string[]]>([
    ['sallyport_core', ['egress', 'gates', 'signing']],
    ['sallyport_gates', ['gates']],
    ['sallyport_egress', ['egress']],
  ])('%s sees these class keys: %j', async (role, classes) => {
    const rows = await as[role].query<{ class: string }>('SELECT class FROM class_keys ORDER BY class');
    expect(rows.map((row) => row.class)).toEqual(classes);
  });
});

describe('sallyport_egress is refused', () => {
  it.each([
    'SELECT sealed_private FROM signing_keys',
    'SELECT * FROM signing_keys',
    'SELECT (s).sealed_private FROM signing_keys s',
    'SELECT to_json(s) FROM signing_keys s',
    'SELECT count(*) FROM signing_keys WHERE sealed_private IS NOT NULL',
    'SELECT kid FROM signing_keys ORDER BY sealed_private',
    'COPY signing_keys TO STDOUT',
    'SELECT * FROM admin_keys',
    'SELECT * FROM admin_events',
    'SELECT * FROM vaults',
    'SELECT * FROM connections',
    'SELECT * FROM connection_ends',
    'SELECT * FROM refusal_counts',
    `UPDATE connections SET verdict = 'denied'`,
    `UPDATE connection_ends SET bytes_up = 0`,
    'UPDATE refusal_counts SET count = 0',
    'DELETE FROM connections',
    'DELETE FROM connection_ends',
    'DELETE FROM refusal_counts',
    'TRUNCATE connections',
    'TRUNCATE connection_ends',
    'TRUNCATE refusal_counts',
    `INSERT INTO connections SELECT * FROM connections ON CONFLICT (id) DO UPDATE SET verdict = 'denied'`,
    `INSERT INTO connection_ends VALUES ('con_1', now(), 'denied', 'x', '{}', null, 0, 0, 0)
       ON CONFLICT (connection_id) DO UPDATE SET verdict = 'denied'`,
    `INSERT INTO connections VALUES ('con_9', now(), 'e', 't', 'p', null, null, 'r', 's', 'h', 1, 'allowed', 'x') RETURNING *`,
    `INSERT INTO environments (id, name, kind, mode, max_connections, new_per_second) VALUES ('x', 'x', 'pod', 'report', 1, 1)`,
    `UPDATE environments SET mode = 'report'`,
    `UPDATE environments SET deleted_at = NULL`,
    'DELETE FROM environments',
    `UPDATE credentials SET hosts = '{evil.example}'`,
    'DELETE FROM credentials',
    'DELETE FROM oauth_grants',
    `INSERT INTO environment_credentials SELECT e.id, c.id FROM environments e, credentials c`,
    'DELETE FROM environment_credentials',
    `UPDATE authorities SET certificate = ''`,
    'DELETE FROM authorities',
    `UPDATE class_keys SET wrapped = ''`,
    `UPDATE signing_keys SET state = 'current'`,
    'UPDATE program_requirement SET oldest_program = $$9.9.9$$',
    'DELETE FROM schemaversion',
    'CREATE TABLE mine (x int)',
    'CREATE SCHEMA mine',
    'CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE OR REPLACE FUNCTION tell_change(kind text, id text) RETURNS void LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE TRIGGER mine BEFORE INSERT ON connections FOR EACH ROW EXECUTE FUNCTION tell_environment()',
    'CREATE RULE mine AS ON INSERT TO connections DO INSTEAD NOTHING',
    'ALTER TABLE connections DISABLE TRIGGER ALL',
    'ALTER TABLE credentials DISABLE ROW LEVEL SECURITY',
    'CREATE POLICY mine ON credentials TO sallyport_egress USING (true)',
    'DROP TABLE connections',
    'SET row_security = off; SELECT * FROM credentials',
    'SET session_replication_role = replica',
    'GRANT sallyport_core TO sallyport_egress',
    'ALTER ROLE sallyport_egress SUPERUSER',
    'CREATE ROLE mine',
    `COPY tenant TO PROGRAM 'cat'`,
    `SELECT pg_read_file('/etc/passwd')`,
  ])('%s', (statement) => refused('sallyport_egress', statement));
});

describe('sallyport_gates is refused', () => {
  it.each([
    'SELECT * FROM authorities',
    'SELECT certificate FROM authorities',
    'SELECT * FROM environments',
    'SELECT * FROM environment_credentials',
    'SELECT * FROM connections',
    `INSERT INTO connections VALUES ('con_8', now(), 'e', 't', 'p', null, null, 'r', 's', 'h', 1, 'allowed', 'x')`,
    'SELECT * FROM refusal_counts',
    'SELECT sealed_private FROM signing_keys',
    'SELECT * FROM admin_keys',
    'SELECT * FROM vaults',
    'SELECT * FROM oauth_grants',
    'SELECT id FROM crossings',
    `UPDATE credentials SET hosts = '{evil.example}'`,
    'DELETE FROM credentials',
    'CREATE TABLE mine (x int)',
  ])('%s', (statement) => refused('sallyport_gates', statement));
});

describe('sallyport_core is refused', () => {
  it.each([
    'SELECT sealed_private FROM authorities',
    'SELECT * FROM authorities',
    'SELECT sealed_access FROM oauth_grants',
    'SELECT sealed_refresh FROM oauth_grants',
    'DELETE FROM oauth_grants',
    'SELECT outcome FROM crossings',
    'SELECT request_mac FROM crossings',
    `INSERT INTO oauth_grants (credential_id, credential_version) SELECT id, 1 FROM credentials`,
    `UPDATE authorities SET certificate = ''`,
    `INSERT INTO authorities (id, state, certificate, sealed_private) VALUES ('x', 'previous', '', '')`,
    `UPDATE connections SET verdict = 'denied'`,
    'DELETE FROM connections',
    'TRUNCATE connections',
    `INSERT INTO connections VALUES ('con_7', now(), 'e', 't', 'p', null, null, 'r', 's', 'h', 1, 'allowed', 'x')`,
    'UPDATE connection_ends SET bytes_up = 0',
    'DELETE FROM connection_ends',
    'UPDATE refusal_counts SET count = 0',
    'DELETE FROM refusal_counts',
    `UPDATE admin_events SET actor = 'nobody'`,
    'DELETE FROM admin_events',
    'TRUNCATE admin_events',
    'DELETE FROM admin_keys',
    'DELETE FROM signing_keys',
    'DELETE FROM environments',
    `UPDATE tenant SET id = 'x'`,
    'DELETE FROM class_keys',
    'UPDATE program_requirement SET oldest_program = $$9.9.9$$',
    'CREATE TABLE mine (x int)',
    'DROP TABLE connections',
    'ALTER TABLE connections ADD COLUMN x int',
    'CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
  ])('%s', (statement) => refused('sallyport_core', statement));
});

async function refused(role: Role, statement: string): Promise<void> {
  await expect(as[role].query(statement)).rejects.toMatchObject({
    code: 'database_rights',
    cause: { code: '42501' },
  });
}

/** Every table with what the role may, in the words of MATRIX. */
async function rightsOf(role: Role): Promise<Record<string, string>> {
  const rows = await installation.owner.query<{
    name: string;
    held: string[];
    columns: Record<string, string[]>;
  }>(
    `SELECT relname AS name,
       ARRAY(SELECT r FROM unnest($2::text[]) WITH ORDINALITY AS t(r, n) WHERE has_table_privilege($1, c.oid, r) ORDER BY n) AS held,
       (SELECT json_object_agg(r, ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0
           AND NOT attisdropped AND has_column_privilege($1, c.oid, attnum, r) ORDER BY attname))
          FROM unnest($3::text[]) AS r) AS columns
     FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [role, TABLE_RIGHTS, COLUMN_RIGHTS],
  );
  return Object.fromEntries(
    rows.map(({ name, held, columns }) => {
      const partly = COLUMN_RIGHTS.filter(
        (right) => !held.includes(right) && (columns[right]?.length ?? 0) > 0,
      );
      return [name, [...held, ...partly.map((right) => `${right}(${columns[right]})`)].join(' ')];
    }),
  );
}

/** MAINTAIN is known to PostgreSQL 17 and later, as the tests' server is. */
const TABLE_RIGHTS = [
  'SELECT',
  'INSERT',
  'UPDATE',
  'DELETE',
  'TRUNCATE',
  'REFERENCES',
  'TRIGGER',
  'MAINTAIN',
];
const COLUMN_RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'REFERENCES'];

const value = { value: new Secret('a-secret-value') };
const hosts = ['api.example'];
const ONE_OF_EACH: Readonly<Record<(typeof CREDENTIAL_KINDS)[number], CredentialInput>> = {
  model_key: { kind: 'model_key', hosts, secret: value },
  bearer: { kind: 'bearer', hosts, secret: value },
  headers: { kind: 'headers', hosts, secret: { 'x-key': new Secret('a-secret-value') } },
  oauth: {
    kind: 'oauth',
    hosts,
    tokenUrl: 'https://api.example/token',
    clientId: 'c',
    grant: 'client_credentials',
    secret: { client_secret: new Secret('a-secret-value') },
  },
  environment_secret: { kind: 'environment_secret', hosts, variable: 'TOKEN', secret: value },
  environment_variable: { kind: 'environment_variable', hosts, variable: 'MODE', secret: value },
};
const ENVIRONMENT = {
  kind: 'pod',
  mode: 'enforce',
  allow: ['api.example'],
  maxConnections: 10,
  newPerSecond: 10,
} as const;
