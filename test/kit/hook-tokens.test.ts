import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isId, makeId } from '../../core-lite/id.ts';
import { NO_POD } from '../../core-lite/state/environment.ts';
import { issuerOf } from '../../core-lite/tokens/token-kinds.ts';
import { verifyToken } from '../../core-lite/tokens/verify.ts';
import makeHook, { type GatesFacts } from './gates-hook.ts';
import { factsFile } from './hook-tokens.ts';

const TENANT = 'tnt';
const ofPod = { sub: makeId('env'), hep: 4, pod: NO_POD };
const runs = Object.fromEntries(
  ['session-1', 'session-r3'].map((name) => [name, { session: makeId('ses'), turn: makeId('trn') }]),
);
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** The run's folder, as a kit leaves it. */
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-hook-'));
  mkdirSync(join(folder, 'stage'));
  const claims = Object.entries(runs).map(([name, { session: sub, turn: trn }]) => [
    name,
    { proxy: ofPod, gates: { sub, trn, agt: 'kit', epc: 2 }, other: ofPod },
  ]);
  const facts: GatesFacts = {
    coreUrl: 'http://127.0.0.1:9',
    adminKey: 'none',
    issuer: issuerOf(TENANT),
    kid: 'k1',
    runs,
    claims: Object.fromEntries(claims),
  };
  writeFileSync(factsFile(folder), JSON.stringify(facts));
  const { privateKey, publicKey } = keys;
  writeFileSync(join(folder, 'stage', 'token-key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(folder, 'stage', 'token-pub.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('the hook of hostile-gates', () => {
  it.each([
    ['epoch-old', 'session-1', 1],
    ['epoch-future', 'session-1', 1002],
    ['session-r3', 'session-r3', 2],
  ])('%s is a good token but for what it names', async (name, session, epoch) => {
    expect(await verify(name)).toMatchObject({
      claims: { sub: runs[session]?.session, trn: runs[session]?.turn, epc: epoch },
    });
  });

  it.each(['epoch-missing', 'epoch-string'])('%s is no token of ours', async (name) => {
    expect(await verify(name)).toBe('token_untrusted');
  });

  it('session-unknown is a good token of nobody’s session', async () => {
    const sessions = Object.values(runs).map(({ session }) => session);
    expect(await verify('session-unknown')).toMatchObject({
      claims: { sub: expect.toSatisfy((sub) => isId('ses', sub) && !sessions.includes(sub)) },
    });
  });

  it('puts names into paths as they are, and sends cancel to core', () => {
    const hook = makeHook({ dir: join(folder, 'stage') });
    const names = { tool: '../x', provider: 'p', server: 's', turn: '*' };
    expect(hook.gates('tool', names)).toEqual({ method: 'POST', path: '/v1/http-calls/../x' });
    expect(hook.gates('cancel', names)).toMatchObject({
      path: '/v1/turns/*/cancel',
      base: 'http://127.0.0.1:9',
    });
  });
});

function verify(name: string) {
  const token = makeHook({ dir: join(folder, 'stage') }).special[name]?.('gates') ?? '';
  const publicKey = keys.publicKey.toCryptoKey(P256, true, ['verify']);
  const byKid = new Map([['k1', publicKey]]);
  return verifyToken('run', token, { tenantId: TENANT, byKid }, new Date());
}

const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
