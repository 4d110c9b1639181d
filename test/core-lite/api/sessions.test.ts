/** Sessions over HTTP, as an operator opens, reads and ends them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  await world.call('PUT', '/v1/environments/dev', {});
  await world.call('PUT', '/v1/vaults/team');
  for (const [name, kind] of [
    ['search', 'bearer'],
    ['model', 'model_key'],
  ]) {
    const body = { kind, hosts: ['api.example'], secret: { value: 'a-secret-value' } };
    await world.call('PUT', `/v1/vaults/team/credentials/${name}`, body);
  }
});
afterAll(() => world?.close());

const open = async (body: object = {}) =>
  (await send('POST', '/v1/sessions', { agent: 'coder', ...body })).body['id'] as string;
const toolWith = (credential: string) => ({
  httpTools: { look: { url: 'https://api.example/', method: 'GET', inputSchema: {}, credential } },
});

describe('opening', () => {
  it('answers the session with its manifest pinned', async () => {
    const manifest = toolWith('team/search');
    const opened = await send('POST', '/v1/sessions', {
      agent: 'coder',
      environment: 'dev',
      user: 'u 1',
      manifest,
    });
    expect(opened.status).toBe(201);
    expect(opened.body).toMatchObject({
      agent: 'coder',
      environment: 'dev',
      user: 'u 1',
      leaseEpoch: 0,
      activeTurn: null,
      endedAt: null,
      lease: null,
      manifest: {
        models: null,
        mcpServers: {},
        httpTools: { look: { ...manifest.httpTools.look, timeoutMs: 30_000 } },
      },
    });
    const read = await send('GET', `/v1/sessions/${opened.body['id']}`);
    expect(read).toMatchObject({ status: 200, body: opened.body });
  });

  it('needs an agent and nothing else', async () => {
    const { body } = await send('POST', '/v1/sessions', { agent: 'coder' });
    expect(body).toMatchObject({
      environment: null,
      environmentId: null,
      user: null,
      manifest: { models: null, mcpServers: {}, httpTools: {} },
    });
  });

  it.each<[name: string, body: object, says: string]>([
    ['no agent', { agent: undefined }, '400 input_invalid'],
    ['an agent with a space', { agent: 'a b' }, '400 input_invalid'],
    ['an agent with a long name', { agent: 'a'.repeat(129) }, '400 input_invalid'],
    ['an unknown field', { model: 'x' }, '400 input_invalid'],
    ['a user with NUL', { user: 'a\0' }, '400 input_invalid'],
    ['a user with half a character', { user: '\ud800' }, '400 input_invalid'],
    ['an unknown field of the manifest', { manifest: { servers: {} } }, '400 input_invalid'],
    ['a manifest that is null', { manifest: null }, '400 input_invalid'],
    ['an environment that is not there', { environment: 'prod' }, '404 not_found'],
    ['a credential that is not there', { manifest: toolWith('team/none') }, '404 not_found'],
    ['a model’s key for a tool', { manifest: toolWith('team/model') }, '400 input_invalid'],
  ])('is refused with %s', async (_, body, says) => {
    const before = (await send('GET', '/v1/sessions')).rows.length;
    expect(refusal(await send('POST', '/v1/sessions', { agent: 'coder', ...body }))).toBe(says);
    expect((await send('GET', '/v1/sessions')).rows.length).toBe(before);
  });

  it('leaves an event that names neither user nor URL', async () => {
    const id = await open({ user: 'somebody', manifest: toolWith('team/search') });
    const { rows } = await send('GET', '/v1/admin-events?limit=1');
    expect(rows[0]).toMatchObject({
      action: 'session.open',
      subject: id,
      detail: { agent: 'coder', environment: null, models: null, mcpServers: [], httpTools: ['look'] },
    });
    expect(JSON.stringify(rows)).not.toMatch(/somebody|api\.example/);
  });
});

describe('listing', () => {
  it('filters by agent and state, page by page, newest first', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift(await open({ agent: 'lister' }));
    await send('POST', `/v1/sessions/${made[4]}/end`);
    const list = async (query: string) => {
      const { rows } = await send('GET', `/v1/sessions?agent=lister${query}`);
      return rows.map((row) => row['id'] as string);
    };
    expect(await list('')).toEqual(made);
    expect(await list('&open=true')).toEqual(made.slice(0, 4));
    expect(await list('&open=false')).toEqual(made.slice(4));
    expect(await list('&limit=2')).toEqual(made.slice(0, 2));
    expect(await list(`&limit=2&before=${made[1]}`)).toEqual(made.slice(2, 4));
  });

  it.each(['?open=maybe', '?limit=0', '?before=x', '?agnet=x'])('refuses %s', async (query) => {
    expect(refusal(await send('GET', `/v1/sessions${query}`))).toBe('400 input_invalid');
  });
});

describe('ending', () => {
  it('ends the active turn, once, with one event', async () => {
    const id = await open();
    const turn = (await send('POST', `/v1/sessions/${id}/turns`)).body['id'] as string;
    const ended = await send('POST', `/v1/sessions/${id}/end`);
    expect(ended.body).toMatchObject({ id, activeTurn: null, endedAt: expect.any(String) });
    expect((await send('GET', `/v1/turns/${turn}`)).body).toMatchObject({ state: 'ended' });
    expect(await send('POST', `/v1/sessions/${id}/end`)).toEqual(ended);
    const { rows } = await send('GET', '/v1/admin-events?limit=2');
    expect(rows.map((event) => event['action'])).toEqual(['session.end', 'turn.start']);
    expect(rows[0]).toMatchObject({ subject: id, detail: { turn } });
  });

  it('is the last of it: no turn starts any more', async () => {
    const id = await open();
    await send('POST', `/v1/sessions/${id}/end`);
    expect(refusal(await send('POST', `/v1/sessions/${id}/turns`))).toBe('409 conflict');
  });

  it.each(['', '/turns', '/end'])('a session that is not there: %s', async (path) => {
    const method = path === '' ? 'GET' : 'POST';
    const at = `/v1/sessions/ses_${'0'.repeat(32)}${path}`;
    expect(refusal(await send(method, at))).toBe('404 not_found');
  });
});
