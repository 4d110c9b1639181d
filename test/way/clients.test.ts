/**
 * The clients that people use, for real, with nothing but the variables of `sallyport pod env` and an egress token in
 * the proxy's URL: each through a tunnel, through an interception with a secret that it never holds, to a host that
 * nobody allowed, and with a token that is none. The names lead nowhere but in egress, so what goes past the proxy fails.
 * Java as it is, without a word of its program, needs the relay of `sallyport run`: run-java.test.ts.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { sallyport, settingsOf } from '../cli/sallyport.ts';
import { type ClientOrigin, startClientOrigin } from '../support/client-origin.ts';
import { makePages } from '../support/client-pages.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { CLIENTS, type RealClient, runCommand } from '../support/real-clients.ts';

const SECRET = 'canary-secret-of-clients-4b';
const BOUND = { api: 'api.clients.test', openai: 'openai.clients.test', anthropic: 'anthropic.clients.test' };
const OPEN = 'open.clients.test';
const LIMIT_MS = 60_000;

let folder: string;
let origin: ClientOrigin;
let gate: TestGate;
let observePort: number;
let token: string;
let variables: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-clients-'));
  origin = await startClientOrigin(await makePages());
  await writeFile(join(folder, 'roots.pem'), origin.caPem);
  observePort = await freePort();
  gate = await startGate({
    hosts: `127.0.0.1 ${OPEN} ${Object.values(BOUND).join(' ')}`,
    open: '*.clients.test=127.0.0.0/8',
    settings: {
      SALLYPORT_EXTRA_CA: join(folder, 'roots.pem'),
      SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
    },
  });
  await putEnvironment();
  token = await gate.world.token('dev');
  variables = await readVariables();
}, LIMIT_MS);
beforeEach(() => {
  origin.seen.length = 0;
});
afterAll(async () => {
  await gate?.close();
  await origin?.close();
  await rm(folder, { recursive: true, force: true });
});

async function putEnvironment(): Promise<void> {
  await gate.world.call('PUT', '/v1/vaults/v');
  for (const [name, host] of Object.entries(BOUND)) {
    await gate.world.call('PUT', `/v1/vaults/v/credentials/${name}`, {
      kind: 'environment_secret',
      variable: name === 'api' ? 'API_KEY' : `${name.toUpperCase()}_API_KEY`,
      hosts: [`${host}:${origin.port}`],
      secret: { value: SECRET },
      ...(name === 'anthropic' ? { placement: { header: 'x-api-key', format: '{}' } } : {}),
    });
  }
  await gate.put('dev', {
    allow: [OPEN, ...Object.values(BOUND)].map((host) => `${host}:${origin.port}`),
    credentials: Object.keys(BOUND).map((name) => `v/${name}`),
  });
}

/** What `pod env` prints, and what a shell of an image has besides. */
async function readVariables(): Promise<Record<string, string>> {
  const proxy = formatAddress(gate.egress.address);
  const words = ['pod', 'env', '--json', '--env', 'dev', '--dir', join(folder, 'trust')];
  words.push('--proxy', `http://sallyport:${token}@${proxy}`, '--java-proxy', proxy);
  const roots = { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') };
  const typed = await sallyport(words, { variables: { ...settingsOf(gate.world, gate.egress), ...roots } });
  if (typed.status !== 0) throw new Error(typed.err.join('\n'));
  return { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...typed.json<Record<string, string>>() };
}

const ask = ({ command }: RealClient, host: string, variant = variables) =>
  runCommand(command(`https://${host}`), variant, folder);

describe.each(CLIENTS)('$name', { timeout: LIMIT_MS }, (client) => {
  const { name, got, secret, refused, unknown } = client;

  it('goes through a tunnel with what it holds itself', async () => {
    const { status, said } = await ask(client, `${OPEN}:${origin.port}`);
    expect([status, said]).toEqual([0, expect.stringMatching(got)]);
    expect(origin.seen.length).toBeGreaterThan(0);
    for (const seen of origin.seen) expect(seen).toMatchObject({ host: OPEN });
    expect(JSON.stringify(origin.seen)).not.toContain(SECRET);
  });

  it('uses a secret that it never holds', async () => {
    const { status, said } = await ask(client, `${BOUND[secret]}:${origin.port}`);
    expect([status, said]).toEqual([0, expect.stringMatching(got)]);
    const credential = secret === 'anthropic' ? { apiKey: SECRET } : { authorization: `Bearer ${SECRET}` };
    expect(origin.seen.length).toBeGreaterThan(0);
    for (const seen of origin.seen) expect(seen).toMatchObject(credential);
    expect(JSON.stringify(variables) + said).not.toContain(SECRET);
  });

  it('reaches nothing that nobody allowed, and fails', async () => {
    const host = `for-${name.toLowerCase().replaceAll(/\W+/g, '-')}.refused.test`;
    const { status, said } = await ask(client, host);
    expect(status).not.toBe(0);
    expect(said).toMatch(refused);
    const rows = (await gate.rows()).filter((row) => row.host === host);
    expect(new Set(rows.map(({ reason }) => reason))).toEqual(new Set(['host_denied']));
    expect(origin.seen).toEqual([]);
  });

  it('with a token that is none reaches nothing, and fails', async () => {
    const before = await countForgeries();
    const forged = JSON.parse(JSON.stringify(variables).replaceAll(token, forge(token)));
    const { status, said } = await ask(client, `${OPEN}:${origin.port}`, forged);
    expect(status).not.toBe(0);
    expect(said).toMatch(unknown);
    expect(await countForgeries()).toBeGreaterThan(before);
    expect(origin.seen).toEqual([]);
  });
});

/** One character of the signature is another. */
function forge(of: string): string {
  const place = of.length - 10;
  return of.slice(0, place) + (of[place] === 'A' ? 'B' : 'A') + of.slice(place + 1);
}

/** How many tokens egress refused so far for their signature. */
async function countForgeries(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${observePort}/metrics`)).text();
  const line = /^sallyport_egress_refusals_total\{reason="token_untrusted"\} (\d+)$/m.exec(text);
  return Number(line?.[1] ?? 0);
}
