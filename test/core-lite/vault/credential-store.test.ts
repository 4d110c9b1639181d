import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import {
  findEnvironment,
  putEnvironment,
  removeEnvironment,
} from '../../../core-lite/state/environment-store.ts';
import {
  type CredentialInput,
  type CredentialKind,
  parseCredential,
  unpackSecret,
} from '../../../core-lite/vault/credential.ts';
import {
  credentialPlace,
  findCredential,
  listCredentials,
  listVaults,
  putCredential,
  putVault,
  removeCredential,
  removeVault,
  rotateCredential,
} from '../../../core-lite/vault/credential-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

let installation: Installation;
let core: Database;
let vault: string;
let serial = 0;

beforeAll(async () => {
  installation = await createInstallation();
  core = installation.as('sallyport_core');
});
afterAll(() => installation?.close());
beforeEach(async () => {
  serial += 1;
  vault = `v${serial}`;
  await core.transaction((tx) => putVault(tx, vault));
});

describe('a vault', () => {
  it('is made once, lists what it holds, and goes only when it is empty', async () => {
    await core.transaction((tx) => putVault(tx, vault));
    await put('one', secretOf('environment_secret'));
    expect((await listVaults(core)).filter((row) => row.name === vault)).toMatchObject([{ credentials: 1 }]);
    await expect(core.transaction((tx) => removeVault(tx, vault))).rejects.toMatchObject({
      code: 'conflict',
    });
    await core.transaction((tx) => removeCredential(tx, vault, 'one'));
    await core.transaction((tx) => removeVault(tx, vault));
    await expect(core.transaction((tx) => removeVault(tx, vault))).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('a credential', () => {
  it.each<[kind: CredentialKind, opens: 'gates' | 'egress' | 'signing']>([
    ['model_key', 'gates'],
    ['bearer', 'gates'],
    ['headers', 'gates'],
    ['oauth', 'gates'],
    ['environment_secret', 'egress'],
    ['environment_variable', 'signing'],
  ])('%s is sealed for %s, its row and its version', async (kind, opens) => {
    const { id, version } = await put('one', secretOf(kind));
    const sealed = await sealedOf(id);
    const { seals } = installation;
    const parts = unpackSecret(seals[opens].open(sealed, credentialPlace(id, version)));
    expect(Object.values(parts).map((part) => part.reveal())).toContain(VALUE);
    for (const other of (['gates', 'egress', 'signing'] as const).filter((each) => each !== opens)) {
      expect(() => seals[other].open(sealed, credentialPlace(id, version))).toThrow();
    }
    expect(() => seals[opens].open(sealed, credentialPlace(id, version + 1))).toThrow();
    expect(() => seals[opens].open(sealed, credentialPlace('crd_other', version))).toThrow();
  });

  it('gets a new version each time, and an old one put back does not open', async () => {
    const first = await put('one', secretOf('bearer'));
    const old = await sealedOf(first.id);
    const second = await put('one', { ...secretOf('bearer'), hosts: ['other.example'] });
    expect(second).toMatchObject({ id: first.id, version: 2, hosts: ['other.example'] });
    const third = await rotate('one', { value: new Secret('another-secret') });
    expect(third).toMatchObject({ id: first.id, version: 3, hosts: ['other.example'] });
    await installation.owner.query('UPDATE credentials SET sealed = $2 WHERE id = $1', [first.id, old]);
    expect(() => installation.seals.gates.open(old, credentialPlace(first.id, 3))).toThrow();
  });

  it('whose value egress reads has no secret part, and is not rotated', async () => {
    const { secret: _, ...input } = secretOf('environment_secret');
    const { id } = await put('one', { ...input, valueFrom: 'file:token', secret: {} });
    expect(await core.query('SELECT sealed FROM credentials WHERE id = $1', [id])).toEqual([
      { sealed: null },
    ]);
    expect(await findCredential(core, vault, 'one')).toMatchObject({ settings: { valueFrom: 'file:token' } });
    await expect(rotate('one', { value: new Secret(VALUE) })).rejects.toMatchObject({
      code: 'input_invalid',
    });
    await put('one', secretOf('environment_secret'));
    expect((await sealedOf(id)).length).toBeGreaterThan(VALUE.length);
    const both = { ...secretOf('environment_secret'), valueFrom: 'file:token' };
    expect(() => parseCredential(both)).toThrow('not both');
    expect(() => parseCredential({ ...secretOf('bearer'), valueFrom: 'file:token' })).toThrow('no valueFrom');
    const stray = installation.owner.query('UPDATE credentials SET sealed = NULL WHERE id = $1', [id]);
    await expect(stray).rejects.toMatchObject({ code: expect.anything() });
  });

  it('keeps its kind', async () => {
    await put('one', secretOf('bearer'));
    await expect(put('one', secretOf('model_key'))).rejects.toMatchObject({ code: 'conflict' });
    expect(await findCredential(core, vault, 'one')).toMatchObject({ kind: 'bearer', version: 1 });
  });

  it('needs its vault', async () => {
    const stray = core.transaction((tx) =>
      putCredential(tx, installation.seals, 'none', 'one', parseCredential(secretOf('bearer'))),
    );
    await expect(stray).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is found, listed and shown without its secret', async () => {
    await put('b', secretOf('bearer'));
    await put('a', secretOf('environment_secret'));
    const rows = await listCredentials(core, vault);
    expect(rows.map((row) => row.name)).toEqual(['a', 'b']);
    expect(JSON.stringify(rows)).not.toContain(VALUE);
    expect((await listCredentials(core)).length).toBeGreaterThanOrEqual(2);
    expect(await listCredentials(core, 'none')).toEqual([]);
    await expect(findCredential(core, vault, 'c')).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each<[name: string, kind: CredentialKind, parts: Record<string, Secret>, code: string]>([
    ['a short secret', 'bearer', { value: new Secret('short') }, 'input_invalid'],
    ['a strange part', 'bearer', { token: new Secret('long-enough-secret') }, 'input_invalid'],
    ['nothing', 'headers', {}, 'input_invalid'],
    ['the sentinel', 'environment_secret', { value: new Secret('sallyport-managed') }, 'input_invalid'],
  ])('is not rotated to %s', async (_, kind, parts, code) => {
    await put('one', secretOf(kind));
    await expect(rotate('one', parts)).rejects.toMatchObject({ code });
    expect(await findCredential(core, vault, 'one')).toMatchObject({ version: 1 });
  });

  it('of headers has the names of its last rotation', async () => {
    await put('one', secretOf('headers'));
    const rotated = await rotate('one', { 'x-new': new Secret(VALUE), 'x-more': new Secret(VALUE) });
    expect(rotated.settings).toEqual({ headers: ['x-new', 'x-more'] });
  });

  it('of a refresh grant is not rotated without a refresh token', async () => {
    const refresh = { refresh_token: new Secret(VALUE), client_secret: new Secret(VALUE) };
    await put('one', { ...secretOf('oauth'), grant: 'refresh_token', secret: refresh });
    await expect(rotate('one', { client_secret: new Secret(VALUE) })).rejects.toMatchObject({
      code: 'input_invalid',
    });
    expect(await rotate('one', refresh)).toMatchObject({ version: 2 });
  });

  it('of oauth with a variable is sealed for egress, and stays with whom it is', async () => {
    const bound: CredentialInput = { ...secretOf('oauth'), variable: 'GH_TOKEN' };
    const { id, version } = await put('one', bound);
    const place = credentialPlace(id, version);
    const { seals } = installation;
    const sealed = await sealedOf(id);
    expect(unpackSecret(seals.egress.open(sealed, place))['client_secret']?.reveal()).toBe(VALUE);
    await expect(put('one', secretOf('oauth'))).rejects.toMatchObject({ code: 'conflict' });
    await put('two', secretOf('oauth'));
    await expect(put('two', bound)).rejects.toMatchObject({ code: 'conflict' });
    expect(await put('one', { ...bound, variable: 'OTHER' })).toMatchObject({ version: 2, problem: null });
  });

  it('that is not there is not rotated or removed', async () => {
    await expect(rotate('none', { value: new Secret(VALUE) })).rejects.toMatchObject({ code: 'not_found' });
    await expect(core.transaction((tx) => removeCredential(tx, vault, 'none'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('made twice at once is made once; the other is told', async () => {
    const made = await Promise.allSettled([1, 2, 3, 4].map(() => put('one', secretOf('bearer'))));
    for (const each of made) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'conflict' });
    }
    expect(made.some((each) => each.status === 'fulfilled')).toBe(true);
  });

  it('rotated by many at once gets a version from each', async () => {
    await put('one', secretOf('bearer'));
    await Promise.all(Array.from({ length: 8 }, () => rotate('one', { value: new Secret(VALUE) })));
    expect(await findCredential(core, vault, 'one')).toMatchObject({ version: 9 });
  });
});

describe('a bound credential', () => {
  it('is not removed while an environment lives on it, and is once that is gone', async () => {
    await put('one', secretOf('environment_secret'));
    await bind('bound', ['one']);
    await expect(core.transaction((tx) => removeCredential(tx, vault, 'one'))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('bound'),
    });
    await core.transaction((tx) => removeEnvironment(tx, 'bound'));
    await core.transaction((tx) => removeCredential(tx, vault, 'one'));
    expect(await listCredentials(core, vault)).toEqual([]);
  });

  it('is named by its environment, which takes only environment secrets and variables that exist', async () => {
    await put('one', secretOf('environment_secret'));
    await put('two', secretOf('environment_variable'));
    await put('model', secretOf('model_key'));
    await bind('names', ['two', 'one', 'one']);
    expect((await findEnvironment(core, 'names')).credentials).toEqual([`${vault}/one`, `${vault}/two`]);
    await expect(bind('names', ['model'])).rejects.toMatchObject({ code: 'input_invalid' });
    await expect(bind('names', ['none'])).rejects.toMatchObject({ code: 'not_found' });
    expect((await findEnvironment(core, 'names')).credentials).toHaveLength(2);
    await bind('names', []);
    expect((await findEnvironment(core, 'names')).credentials).toEqual([]);
  });
});

function put(name: string, input: CredentialInput) {
  return core.transaction((tx) => putCredential(tx, installation.seals, vault, name, parseCredential(input)));
}

function rotate(name: string, parts: Record<string, Secret>) {
  return core.transaction((tx) => rotateCredential(tx, installation.seals, vault, name, parts));
}

function bind(environment: string, names: readonly string[]) {
  const credentials = names.map((name) => `${vault}/${name}`);
  return core.transaction((tx) =>
    putEnvironment(tx, environment, {
      kind: 'pod',
      mode: 'enforce',
      allow: [],
      maxConnections: 1,
      newPerSecond: 1,
      credentials,
    }),
  );
}

async function sealedOf(id: string): Promise<Buffer> {
  const [row] = await core.query<{ sealed: Buffer }>('SELECT sealed FROM credentials WHERE id = $1', [id]);
  return row?.sealed ?? expect.unreachable();
}

function secretOf(kind: CredentialKind): CredentialInput {
  const input = { kind, hosts: ['api.example'], secret: { value: new Secret(VALUE) } };
  switch (kind) {
    case 'headers':
      return { ...input, secret: { 'x-key': new Secret(VALUE) } };
    case 'oauth':
      return {
        ...input,
        tokenUrl: 'https://login.example/token',
        clientId: 'c',
        grant: 'client_credentials',
        secret: { client_secret: new Secret(VALUE) },
      };
    case 'environment_secret':
    case 'environment_variable':
      return { ...input, variable: 'TOKEN' };
    default:
      return input;
  }
}

const VALUE = 'the-secret-value';
