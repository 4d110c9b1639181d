/** The ledger over HTTP: sums of tokens and costs, and single calls page by page. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let owner: Database;
let send: Send;
let session: string;
let turn: string;

const OTHER_SESSION = `ses_${'0'.repeat(32)}`;
const OTHER_TURN = `trn_${'0'.repeat(32)}`;
const id = (number: number) => `usg_${String(number).padStart(32, '0')}`;

/** What a row has that says nothing of its own. */
const ROW = {
  at: '2026-01-01T12:00:00Z',
  agent: 'ann',
  model: 'fast',
  upstream_name: 'gpt-5',
  provider: 'openai',
  dialect: 'openai',
  streamed: true,
  status: 200,
  outcome: 'completed',
  input_tokens: 10,
  output_tokens: 5,
  cost_usd: 0.25,
  presumed: false,
  client_agent: null,
  duration_ms: 40,
  replica: 'rep_1',
};

async function addRow(
  number: number,
  more: Partial<Record<keyof typeof ROW | 'session_id' | 'turn_id', unknown>>,
) {
  const row = { id: id(number), session_id: session, turn_id: turn, ...ROW, ...more };
  const names = Object.keys(row);
  await owner.query(
    `INSERT INTO model_usage (${names.join()}) VALUES (${names.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(row),
  );
}

beforeAll(async () => {
  world = await startWorld();
  owner = openDatabase(new Secret(world.databaseUrl), null);
  send = sendAs(world);
  session = (await world.call<{ id: string }>('POST', '/v1/sessions', { agent: 'ann' })).id;
  turn = (await world.call<{ id: string }>('POST', `/v1/sessions/${session}/turns`)).id;
  const other = { session_id: OTHER_SESSION, turn_id: OTHER_TURN, agent: 'bob' };
  await addRow(1, {});
  await addRow(2, { cost_usd: 0.000_000_000_1, client_agent: 'sub' });
  await addRow(3, {
    at: '2026-01-02T12:00:00Z',
    model: 'slow',
    provider: 'custom',
    cost_usd: null,
    input_tokens: 900,
  });
  await addRow(4, {
    ...other,
    at: '2026-01-03T12:00:00Z',
    outcome: 'presumed',
    cost_usd: 1.5,
    presumed: true,
  });
  await addRow(5, {
    ...other,
    at: '2026-01-03T12:00:00Z',
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
  });
  await addRow(6, {
    ...other,
    at: '2026-01-04T12:00:00Z',
    provider: null,
    status: 404,
    outcome: 'model_unknown',
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
  });
});
afterAll(async () => {
  await owner?.close();
  await world?.close();
});

const sums = async (query: string) =>
  (await send('GET', `/v1/usage${query}`)).rows.map((row) => [row['group'], row['calls'], row['costUsd']]);
const listed = async (query: string) =>
  (await send('GET', `/v1/usage/calls${query}`)).rows.map((row) => Number(String(row['id']).slice(4)));

describe('sums', () => {
  it('have costs, and the calls that are in none', async () => {
    const { rows } = await send('GET', '/v1/usage');
    expect(rows).toMatchObject([
      {
        group: 'bob',
        calls: 3,
        failed: 2,
        unmetered: 1,
        unpriced: 0,
        presumed: 1,
        costUsd: 1.5,
        inputTokens: 10,
      },
      {
        group: 'ann',
        calls: 3,
        failed: 0,
        unmetered: 0,
        unpriced: 1,
        presumed: 0,
        costUsd: 0.250_000_000_1,
        inputTokens: 920,
      },
    ]);
  });

  it('are by provider, day and the client’s own agent', async () => {
    expect(await sums('?by=provider')).toEqual([
      ['openai', 4, 1.750_000_000_1],
      ['custom', 1, 0],
      ['-', 1, 0],
    ]);
    expect((await sums('?by=day')).map(([day, calls]) => [day, calls])).toEqual([
      ['2026-01-01', 2],
      ['2026-01-02', 1],
      ['2026-01-03', 2],
      ['2026-01-04', 1],
    ]);
    expect(await sums('?by=client-agent&agent=ann')).toEqual([
      ['-', 2, 0.25],
      ['sub', 1, 0.000_000_000_1],
    ]);
    const wrong = await send('GET', '/v1/usage?by=weekday');
    expect([wrong.status, wrong.body]).toMatchObject([
      400,
      {
        error: {
          message: expect.stringContaining('the query’s by is not one of agent, session, turn, model,'),
        },
      },
    ]);
  });

  it('are of what is asked for', async () => {
    expect(await sums(`?session=${OTHER_SESSION}`)).toEqual([['bob', 3, 1.5]]);
    expect(await sums(`?turn=${turn}&model=slow`)).toEqual([['ann', 1, 0]]);
    // A turn that core knows nothing of is looked for all the same.
    expect(await sums(`?turn=${OTHER_TURN}`)).toEqual([['bob', 3, 1.5]]);
    expect(await sums(`?turn=${turn}&session=${OTHER_SESSION}`)).toEqual([]);
    expect(await sums('?provider=custom&since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z')).toEqual([
      ['ann', 1, 0],
    ]);
    expect((await send('GET', '/v1/usage?turn=x')).status).toBe(400);
  });
});

describe('single calls', () => {
  it('come newest first, page by page', async () => {
    expect(await listed('')).toEqual([6, 5, 4, 3, 2, 1]);
    expect(await listed('?limit=2')).toEqual([6, 5]);
    expect(await listed(`?limit=3&before=${id(5)}`)).toEqual([4, 3, 2]);
    expect(await listed(`?agent=ann&before=${id(3)}`)).toEqual([2, 1]);
    expect(await listed(`?turn=${turn}&model=fast`)).toEqual([2, 1]);
    expect((await send('GET', '/v1/usage/calls?before=x')).status).toBe(400);
    expect((await send('GET', '/v1/usage/calls?by=agent')).status).toBe(400);
  });

  it('have all that the ledger has', async () => {
    const [row] = (await send('GET', `/v1/usage/calls?limit=1&before=${id(3)}`)).rows;
    expect(row).toEqual({
      id: id(2),
      at: '2026-01-01T12:00:00.000Z',
      sessionId: session,
      turnId: turn,
      agent: 'ann',
      model: 'fast',
      upstreamName: 'gpt-5',
      provider: 'openai',
      dialect: 'openai',
      streamed: true,
      status: 200,
      outcome: 'completed',
      inputTokens: 10,
      outputTokens: 5,
      cachedTokens: null,
      cacheWriteTokens: null,
      reasoningTokens: null,
      costUsd: 0.000_000_000_1,
      duplicate: false,
      presumed: false,
      firstByteMs: null,
      durationMs: 40,
      clientSession: null,
      clientAgent: 'sub',
      clientParentAgent: null,
    });
  });
});
