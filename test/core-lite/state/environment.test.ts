import { generateKeyPairSync } from 'node:crypto';
import { importSPKI } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { formatHostPatterns } from '../../../core-lite/network/policy.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { findAdmin, makeAdminKey } from '../../../core-lite/state/admin.ts';
import {
  decideStaleness,
  type EnvironmentFacts,
  loadEnvironmentFacts,
} from '../../../core-lite/state/environment.ts';
import {
  type EnvironmentInput,
  listEnvironments,
  putEnvironment,
  removeEnvironment,
} from '../../../core-lite/state/environment-store.ts';
import { loadTenantId, makeTenant } from '../../../core-lite/state/tenant.ts';
import { mintToken } from '../../../core-lite/tokens/mint.ts';
import { VerifiedToken, verifyToken } from '../../../core-lite/tokens/verify.ts';
import { parseCredential } from '../../../core-lite/vault/credential.ts';
import { putCredential, putVault } from '../../../core-lite/vault/credential-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

let installation: Installation;
let core: Database;
let egress: Database;

beforeAll(async () => {
  installation = await createInstallation();
  core = installation.as('sallyport_core');
  egress = installation.as('sallyport_egress');
});
afterAll(() => installation?.close());

describe('the facts of an environment', () => {
  it('are its policy and the environment secrets that it is bound to, as egress may read them', async () => {
    const secret = { value: new Secret('a-secret-value') };
    const put = (name: string, kind: 'environment_secret' | 'environment_variable', hosts: string[]) =>
      core.transaction((tx) =>
        putCredential(
          tx,
          installation.seals,
          'v',
          name,
          parseCredential({ kind, hosts, variable: 'T', secret }),
        ),
      );
    await core.transaction((tx) => putVault(tx, 'v'));
    const bound = await put('bound', 'environment_secret', ['api.example', '*.b.example:8443']);
    await put('plain', 'environment_variable', ['api.example']);
    await put('unbound', 'environment_secret', ['c.example']);
    const oauth = {
      kind: 'oauth',
      hosts: ['d.example'],
      tokenUrl: 'https://login.example/token',
      clientId: 'c',
      grant: 'client_credentials',
      secret: { client_secret: new Secret('a-secret-value') },
    } as const;
    const current = await core.transaction((tx) =>
      putCredential(tx, installation.seals, 'v', 'current', parseCredential({ ...oauth, variable: 'T' })),
    );
    await core.transaction((tx) =>
      putCredential(tx, installation.seals, 'v', 'gates', parseCredential(oauth)),
    );
    await expect(make('wrong', { credentials: ['v/gates'] })).rejects.toMatchObject({
      code: 'input_invalid',
    });
    const { id } = await make('facts', {
      mode: 'report',
      allow: ['a.example', '*.a.example:81'],
      credentials: ['v/bound', 'v/plain', 'v/current'],
    });
    const facts = await loadEnvironmentFacts(egress, id);
    expect(facts).toMatchObject({
      id,
      name: 'facts',
      hostEpoch: 0,
      podUid: 'none',
      network: { mode: 'report', maxConnections: 5, newPerSecond: 6 },
    });
    expect(formatHostPatterns(facts?.network.allow ?? [])).toEqual(['a.example', '*.a.example:81']);
    expect(
      facts?.bindings.map((each) => [each.credentialId, each.version, formatHostPatterns(each.hosts)]),
    ).toEqual([
      [bound.id, 1, ['api.example', '*.b.example:8443']],
      [current.id, 1, ['d.example']],
    ]);
  });

  it('are none for one that is deleted, never was, or is asked for oddly', async () => {
    const { id } = await make('gone', {});
    await core.transaction((tx) => removeEnvironment(tx, 'gone'));
    for (const asked of [id, makeId('env'), '', `' OR true --`])
      expect(await loadEnvironmentFacts(egress, asked)).toBeNull();
  });

  it('carry an epoch past 32 bits', async () => {
    const { id } = await make('epoch', {});
    await installation.owner.query(
      'UPDATE environments SET host_epoch = 2147483648, pod_uid = $2 WHERE id = $1',
      [id, 'pod-7'],
    );
    expect(await loadEnvironmentFacts(egress, id)).toMatchObject({ hostEpoch: 2 ** 31, podUid: 'pod-7' });
    expect((await listEnvironments(core)).find((row) => row.name === 'epoch')).toMatchObject({
      hostEpoch: 2 ** 31,
    });
  });
});

describe('a token', () => {
  it.each<[name: string, facts: Partial<EnvironmentFacts> | null, staleness: string | null]>([
    ['of the current pod speaks for it', {}, null],
    ['of an environment that is gone', null, 'environment_gone'],
    ['of an older epoch', { hostEpoch: 4 }, 'host_superseded'],
    ['of a newer epoch', { hostEpoch: 2 }, 'host_superseded'],
    ['of another pod', { podUid: 'pod-2' }, 'host_superseded'],
    ['of a pod where none has joined', { podUid: 'none' }, 'host_superseded'],
  ])('%s', async (_, change, staleness) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    const keys = { tenantId: 'tnt', byKid: new Map([['k', await importSPKI(pem, 'ES256')]]) };
    const claims = { sub: makeId('env'), hep: 3, pod: 'pod-1' };
    const minted = await mintToken('egress', claims, { kid: 'k', privateKey }, 'tnt', new Date());
    const token = await verifyToken('egress', minted.token.reveal(), keys, new Date());
    if (!(token instanceof VerifiedToken)) return expect.unreachable();
    const facts: EnvironmentFacts = {
      id: claims.sub,
      name: 'e',
      hostEpoch: 3,
      podUid: 'pod-1',
      network: { mode: 'enforce', allow: [], maxConnections: 1, newPerSecond: 1 },
      bindings: [],
    };
    expect(decideStaleness(token, change && { ...facts, ...change })).toBe(staleness);
  });
});

describe('an admin key', () => {
  it('is found while it is not revoked, and is in no row', async () => {
    const key = await makeAdminKey(installation.owner, 'one');
    expect(await findAdmin(core, key)).toMatchObject({ id: expect.stringMatching(/^adk_/) });
    const rows = await installation.owner.query<{ row: string }>('SELECT k::text AS row FROM admin_keys k');
    expect(JSON.stringify(rows)).not.toContain(key.reveal().slice(4));
    await installation.owner.query(`UPDATE admin_keys SET revoked_at = now() WHERE name = 'one'`);
    expect(await findAdmin(core, key)).toBeNull();
  });

  it.each([
    '',
    'sak_',
    'sak_short',
    `sak_${'A'.repeat(43)}`,
    `sak_${'A'.repeat(44)}`,
    `SAK_${'A'.repeat(43)}`,
    `sak_${'A'.repeat(42)}\0`,
    `sak_${'A'.repeat(43)}\n`,
  ])('%j is nobody’s', async (text) => expect(await findAdmin(core, new Secret(text))).toBeNull());
});

it('there is one tenant', async () => {
  const id = await loadTenantId(egress);
  await Promise.all([1, 2, 3].map(() => makeTenant(installation.owner)));
  expect(await loadTenantId(egress)).toBe(id);
  expect(await installation.owner.query('SELECT count(*)::int AS n FROM tenant')).toEqual([{ n: 1 }]);
});

function make(name: string, input: Partial<EnvironmentInput>) {
  return core.transaction((tx) =>
    putEnvironment(tx, name, {
      kind: 'pod',
      mode: 'enforce',
      allow: [],
      maxConnections: 5,
      newPerSecond: 6,
      credentials: [],
      ...input,
    }),
  );
}
