/** Models and usage over HTTP: what an operator may write, and what the sums say. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../../core-lite/database/pool.ts';
import { nameReplica } from '../../../core-lite/record/replica-name.ts';
import { UsageLedger } from '../../../core-lite/record/usage-ledger.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  await send('PUT', '/v1/vaults/team');
  const put = (name: string, kind: string, more: object = {}) =>
    send('PUT', `/v1/vaults/team/credentials/${name}`, {
      kind,
      hosts: ['api.test'],
      secret: { value: 'a-key-of-some-length' },
      ...more,
    });
  await put('key', 'model_key');
  await put('variable', 'environment_variable', { variable: 'X' });
});
afterAll(() => world?.close());

const MODEL = { baseUrl: 'https://api.test/v1/', dialects: ['openai'], credential: 'team/key' };

describe('models', () => {
  it('are put, listed with the built-in one, replaced and removed; each change is an event', async () => {
    const put = await send('PUT', '/v1/models/openai%2Fgpt', MODEL);
    expect(put.body).toMatchObject({
      name: 'openai/gpt',
      builtIn: false,
      baseUrl: 'https://api.test/v1',
      upstreamName: 'openai/gpt',
      credential: 'team/key',
    });
    await send('PUT', '/v1/models/openai%2Fgpt', {
      ...MODEL,
      upstreamName: 'gpt',
      dialects: ['openai', 'anthropic'],
    });
    const list = await send('GET', '/v1/models');
    expect(list.rows.map((row) => [row['name'], row['builtIn'], row['upstreamName']])).toEqual([
      ['fixture/echo', true, 'fixture/echo'],
      ['fixture/tools', true, 'fixture/tools'],
      ['fixture/slow', true, 'fixture/slow'],
      ['openai/gpt', false, 'gpt'],
    ]);
    expect((await send('DELETE', '/v1/models/openai%2Fgpt')).status).toBe(204);
    expect((await send('GET', '/v1/models/openai%2Fgpt')).status).toBe(404);
    const events = await send('GET', '/v1/admin-events');
    expect(
      events.rows.filter((row) => String(row['action']).startsWith('model.')).map((row) => row['action']),
    ).toEqual(['model.rm', 'model.put', 'model.put']);
  });

  const REFUSED: readonly (readonly [name: string, path: string, body: object, status: number])[] = [
    ['a built-in one', 'fixture%2Fecho', MODEL, 409],
    ['a name kept for built-in ones', 'fixture%2Fmine', MODEL, 409],
    ['a name that would be a step in a path', 'a%2F..%2Fb', MODEL, 400],
    ['the same as the provider’s name', 'm', { ...MODEL, upstreamName: 'a/../b' }, 400],
    ['a name with a space', 'a%20b', MODEL, 400],
    ['an address', 'm', { ...MODEL, baseUrl: 'https://10.0.0.1/' }, 400],
    ['a query', 'm', { ...MODEL, baseUrl: 'https://api.test/?key=x' }, 400],
    ['a user', 'm', { ...MODEL, baseUrl: 'https://me@api.test/' }, 400],
    ['no dialect', 'm', { ...MODEL, dialects: [] }, 400],
    ['an unknown dialect', 'm', { ...MODEL, dialects: ['cobol'] }, 400],
    ['an unknown provider', 'm', { provider: 'opnai' }, 400],
    [
      'a dialect that its provider does not speak',
      'm',
      { provider: 'mistral', dialects: ['anthropic'] },
      400,
    ],
    ['a custom server without dialects', 'm', { baseUrl: 'https://api.test' }, 400],
    ['a custom server without a URL', 'm', { dialects: ['openai'] }, 400],
    ['Azure without a URL', 'm', { provider: 'azure' }, 400],
    ['itself as fallback', 'm', { ...MODEL, fallbacks: ['m'] }, 400],
    ['a fallback that is not there', 'm', { ...MODEL, fallbacks: ['nobody'] }, 400],
    ['a built-in fallback', 'm', { ...MODEL, fallbacks: ['fixture/echo'] }, 400],
    ['no tokens', 'm', { ...MODEL, defaultMaxTokens: 0 }, 400],
    ['a credential that is not there', 'm', { ...MODEL, credential: 'team/none' }, 404],
    ['a credential of another kind', 'm', { ...MODEL, credential: 'team/variable' }, 400],
    ['a misspelt field', 'm', { ...MODEL, upstream: 'x' }, 400],
  ];
  for (const [name, path, body, status] of REFUSED) {
    it(`are refused: ${name}`, async () =>
      expect((await send('PUT', `/v1/models/${path}`, body)).status).toBe(status));
  }

  it('take what their provider gives: URL and dialects', async () => {
    const { body } = await send('PUT', '/v1/models/of-openai', {
      provider: 'openai',
      defaultMaxTokens: 4096,
    });
    expect(body).toMatchObject({
      provider: 'openai',
      baseUrl: 'https://api.openai.com',
      dialects: ['openai', 'responses'],
      defaultMaxTokens: 4096,
      fallbacks: [],
      warnings: ['it has no credential, and OpenAI asks for one'],
    });
  });

  it('may have the version of an API in their URL', async () => {
    const baseUrl = 'https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21';
    const put = await send('PUT', '/v1/models/of-azure', {
      provider: 'azure',
      baseUrl,
      dialects: ['openai'],
    });
    expect(put.body).toMatchObject({ baseUrl, dialects: ['openai'] });
  });

  it('fall back on others, which may fall back on them', async () => {
    await send('PUT', '/v1/models/first', MODEL);
    await send('PUT', '/v1/models/second', { ...MODEL, fallbacks: ['first'] });
    const put = await send('PUT', '/v1/models/first', { ...MODEL, fallbacks: ['second'] });
    expect(put.body).toMatchObject({ fallbacks: ['second'], warnings: [] });
    expect((await send('PUT', '/v1/models/third', { ...MODEL, fallbacks: ['first', 'first'] })).status).toBe(
      400,
    );
  });

  it('are warned of what will keep calls from them', async () => {
    const elsewhere = { ...MODEL, baseUrl: 'https://other.test:8443', dialects: ['anthropic'] };
    const { body } = await send('PUT', '/v1/models/warned', { ...elsewhere, fallbacks: ['second'] });
    expect(body).toMatchObject({
      warnings: [
        'its calls will be refused: the hosts of team/key do not name other.test:8443',
        'second is never fallen back on: it serves none of the dialects anthropic',
      ],
    });
  });

  it('keep their credential', async () => {
    await send('PUT', '/v1/models/m', MODEL);
    expect((await send('DELETE', '/v1/vaults/team/credentials/key')).status).toBe(409);
  });
});

describe('usage', () => {
  it('is summed by each group; rows written twice count once', async () => {
    const gates = openDatabase(new Secret(world.databaseUrl), 'sallyport_gates');
    const ledger = new UsageLedger(gates, nameReplica(), vi.fn());
    const entry = (id: string, agent: string, day: string, outcome: string, output: number | null) => ({
      id,
      at: new Date(`${day}T12:00:00Z`),
      sessionId: 'ses_1',
      turnId: `trn_${day}`,
      agent,
      model: 'm',
      upstreamName: 'm',
      provider: 'custom',
      dialect: 'openai' as const,
      streamed: false,
      status: 200,
      outcome,
      tokens: { input: 10, output, cached: 4, cacheWrite: null, reasoning: null },
      costUsd: 0.000_001_25,
      duplicate: false,
      charge: output === null ? ('reserved' as const) : ('counted' as const),
      clientSession: null,
      clientAgent: 'sub',
      clientParentAgent: null,
      firstByteMs: 1.4,
      durationMs: 2.6,
    });
    ledger.add(entry('usg_1', 'ann', '2026-01-01', 'completed', 5));
    ledger.add(entry('usg_2', 'bob', '2026-01-02', 'completed', 50));
    ledger.add(entry('usg_3', 'bob', '2026-01-02', 'client_left', null));
    ledger.add(entry('usg_4', 'bob', '2026-01-03', 'completed', null));
    ledger.add(entry('usg_4', 'bob', '2026-01-03', 'completed', null));
    expect(await ledger.close()).toBe(0);
    await gates.close();
    const sums = async (query: string) =>
      (await send('GET', `/v1/usage${query}`)).rows.map((row) => [
        row['group'],
        row['calls'],
        row['failed'],
        row['unmetered'],
        row['inputTokens'],
        row['outputTokens'],
      ]);
    expect(await sums('')).toEqual([
      ['bob', 3, 1, 1, 30, 50],
      ['ann', 1, 0, 0, 10, 5],
    ]);
    expect(await sums('?by=day')).toEqual([
      ['2026-01-01', 1, 0, 0, 10, 5],
      ['2026-01-02', 2, 1, 0, 20, 50],
      ['2026-01-03', 1, 0, 1, 10, 0],
    ]);
    expect(await sums('?by=model&since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z')).toEqual([
      ['m', 2, 1, 0, 20, 50],
    ]);
    expect(await sums('?by=session')).toEqual([['ses_1', 4, 1, 1, 40, 55]]);
    expect((await sums('?by=turn')).length).toBe(3);
    expect((await send('GET', '/v1/usage?by=nothing')).status).toBe(400);
    expect((await send('GET', '/v1/usage?since=yesterday')).status).toBe(400);
  });
});
