/** The keyed calls of a session as the operator reads them, over HTTP and by command: how each stands, page by page. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import { refusal, type Send, sendAs } from '../support/core-client.ts';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf, type Typed } from './sallyport.ts';

let world: World;
let owner: Database;
let send: Send;
let session: string;
let turn: string;
const id = (number: number): string => `crs_${String(number).padStart(32, '0')}`;

const DONE = {
  state: 'done',
  sent_at: '2026-01-01T12:00:01Z',
  settled_at: '2026-01-01T12:00:03.5Z',
  outcome: Buffer.from('sealed-canary'),
};
const ROWS: readonly Readonly<Record<string, unknown>>[] = [
  { ...DONE, key: 'a', status: 'completed', result_bytes: 12 },
  {
    ...DONE,
    key: 'b',
    kind: 'mcp',
    server: 'files',
    tool: 'read',
    status: 'uncertain',
    code: 'tool.uncertain',
  },
  { key: 'c', state: 'free', status: 'failed', code: 'http.unreachable', credential_id: 'crd_1' },
  { key: 'd', state: 'claimed' },
  { key: 'e\u0007', state: 'sent', sent_at: '2026-01-01T12:00:01Z' },
];

beforeAll(async () => {
  world = await startWorld();
  owner = openDatabase(new Secret(world.databaseUrl), null);
  send = sendAs(world);
  session = (await world.call<{ id: string }>('POST', '/v1/sessions', { agent: 'ann' })).id;
  turn = (await world.call<{ id: string }>('POST', `/v1/sessions/${session}/turns`)).id;
  for (const [place, more] of ROWS.entries()) {
    const row = { id: id(place + 1), session_id: session, turn_id: turn, ...COMMON, ...more };
    const names = Object.keys(row);
    await owner.query(
      `INSERT INTO crossings (${names.join()}) VALUES (${names.map((_, i) => `$${i + 1}`).join()})`,
      Object.values(row),
    );
  }
});
afterAll(async () => {
  await owner?.close();
  await world?.close();
});

const COMMON = {
  kind: 'http',
  tool: 'post',
  request_mac: Buffer.from('mac-canary'),
  agent: 'ann',
  replica: 'rep_1',
  key_hash: Buffer.from('hash-canary'),
  claimed_at: '2026-01-01T12:00:00Z',
};
const list = (query: string) =>
  world.call<Record<string, unknown>[]>('GET', `/v1/sessions/${session}/calls/tool${query}`);
const calls = (words: string): Promise<Typed> =>
  sallyport(`calls --session ${session}${words}`.split(' '), { variables: settingsOf(world) });

describe('GET /v1/sessions/{id}/calls/tool', () => {
  it('lists the newest first, each with how it stands', async () => {
    const rows = await list('');
    expect(rows.map((row) => row['id'])).toEqual([5, 4, 3, 2, 1].map(id));
    expect(rows.map((row) => row['status'])).toEqual([
      'invoking',
      'invoking',
      'failed',
      'uncertain',
      'completed',
    ]);
    expect(rows[4]).toEqual({
      id: id(1),
      key: 'a',
      kind: 'http',
      server: null,
      tool: 'post',
      credentialId: null,
      turnId: turn,
      agent: 'ann',
      status: 'completed',
      code: null,
      startedAt: '2026-01-01T12:00:00.000Z',
      durationMs: 2_500,
      resultBytes: 12,
    });
    expect(rows[0]).toMatchObject({ durationMs: null, resultBytes: null });
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('has pages, and no session but those there are', async () => {
    expect(await list(`?limit=2&before=${id(4)}`)).toMatchObject([{ id: id(3) }, { id: id(2) }]);
    const missing = await send('GET', `/v1/sessions/ses_${'0'.repeat(32)}/calls/tool`);
    expect(refusal(missing)).toEqual(refusal(await send('GET', `/v1/sessions/ses_${'0'.repeat(32)}`)));
    const wrong = await send('GET', `/v1/sessions/${session}/calls/tool?before=usg_1`);
    expect(wrong.status).toBe(400);
  });
});

describe('sallyport calls', () => {
  it('prints them, the newest last', async () => {
    const { status, out } = await calls('');
    expect(status).toBe(0);
    const cells = out.map((line) => line.split(/ {2,}/));
    expect(cells[0]).toEqual(['TIME', 'TURN', 'TOOL', 'KEY', 'STATUS', 'CREDENTIAL', 'TOOK', 'BYTES']);
    expect(cells.slice(1)).toEqual([
      ['2026-01-01T12:00:00Z', turn, 'post', 'a', 'completed', '-', '2.5s', '12'],
      ['2026-01-01T12:00:00Z', turn, 'files/read', 'b', 'uncertain tool.uncertain', '-', '2.5s', '-'],
      ['2026-01-01T12:00:00Z', turn, 'post', 'c', 'failed http.unreachable', 'crd_1', '-', '-'],
      ['2026-01-01T12:00:00Z', turn, 'post', 'd', 'invoking', '-', '-', '-'],
      ['2026-01-01T12:00:00Z', turn, 'post', 'e?', 'invoking', '-', '-', '-'],
    ]);
  });

  it('prints the newest as JSON, and needs a session', async () => {
    expect((await calls(' --limit 2 --json')).json()).toMatchObject([{ key: 'd' }, { key: 'e\u0007' }]);
    expect((await sallyport(['calls'], { variables: settingsOf(world) })).status).toBe(2);
    expect((await calls(' --limit 0')).status).toBe(2);
  });
});
