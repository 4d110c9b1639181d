/**
 * Every dialect at the gates' root, with and without its version: the same path, query and bytes at the provider, the
 * token wherever the dialect puts a key, and the catalogue in each family's own shape.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-dialect-90b1';
let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  gates = await startTestGates([provider]);
  for (const name of ['team/m', 'alias'])
    await putModel(gates, name, provider, {
      key: KEY,
      dialects: DIALECTS,
      ...(name === 'alias' ? { upstreamName: 'models/real-one' } : {}),
    });
}, 60_000);
beforeEach(async () => {
  provider.behave = (_asked, response) => void response.end('{"ok":1}');
  run = await gates.run();
});
afterEach(() => {
  expect(gates.world.logged()).not.toContain(KEY);
  expect(gates.world.logged()).not.toContain(run.token);
  expect(JSON.stringify(provider.asked.map(({ path, rawHeaders }) => [path, rawHeaders]))).not.toContain(
    run.token,
  );
  provider.asked.length = 0;
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

const BODY_ROUTES: readonly (readonly [path: string, dialect: string])[] = [
  ['/chat/completions', 'openai'],
  ['/responses', 'responses'],
  ['/embeddings', 'embeddings'],
  ['/messages', 'anthropic'],
  ['/messages?beta=true', 'anthropic'],
  ['/messages/count_tokens', 'anthropic'],
  ['/messages/count_tokens?beta=true', 'anthropic'],
];
const METHODS = ['generateContent', 'streamGenerateContent', 'countTokens'];
const body = '{ "x":1.0, "model" : "team/m" }';

describe('a route whose body names the model', () => {
  for (const [path, dialect] of BODY_ROUTES) {
    it(`is there with and without its version: ${path}`, async () => {
      for (const version of ['/v1', '']) {
        const reply = await gates.ask(version + path, {
          headers: { authorization: `Bearer ${run.token}` },
          body,
        });
        expect([reply.status, reply.text]).toEqual([200, '{"ok":1}']);
      }
      expect(provider.asked.map((asked) => [asked.path, asked.body.toString()])).toEqual([
        [`/v1${path}`, body],
        [`/v1${path}`, body],
      ]);
      expect(await gates.usage(run, 2)).toMatchObject([{ dialect }, { dialect }]);
    });
  }
});

describe('a route whose path names the model', () => {
  const versions = ['/v1beta', '/v1', '/v1alpha', ''];
  for (const method of METHODS) {
    it(`is there in every version: ${method}`, async () => {
      for (const version of versions) {
        const reply = await gates.ask(`${version}/models/team/m:${method}?alt=sse&x=%20`, {
          headers: { 'x-goog-api-key': run.token },
          body: '{ "contents":[] }',
        });
        expect(reply.status).toBe(200);
      }
      const there = `/v1beta/models/team/m:${method}?alt=sse&x=%20`;
      expect(provider.asked.map(({ path }) => path)).toEqual(versions.map(() => there));
      expect(provider.asked[0]?.body.toString()).toBe('{ "contents":[] }');
      const streamed = method === 'streamGenerateContent';
      expect((await gates.usage(run, 4))[0]).toMatchObject({ model: 'team/m', dialect: 'gemini', streamed });
    });
  }

  it('takes a name percent-encoded, and renames an aliased one in the path', async () => {
    const headers = { 'x-goog-api-key': run.token };
    await gates.ask('/v1beta/models/team%2Fm%3AgenerateContent', { headers, body: '{}' });
    await gates.ask('/%761beta/mod%65ls/team/m:generateContent', { headers, body: '{}' });
    await gates.ask('/v1beta/models/alias:generateContent', { headers, body: '{"model":"alias"}' });
    expect(provider.asked.map((asked) => [asked.path, asked.body.toString()])).toEqual([
      ['/v1beta/models/team/m:generateContent', '{}'],
      ['/v1beta/models/team/m:generateContent', '{}'],
      ['/v1beta/models/models/real-one:generateContent', '{"model":"alias"}'],
    ]);
  });

  it('refuses what it does not know, in Gemini’s shape', async () => {
    for (const [path, status, reason] of [
      ['/v1beta/models/team/m:embedContent', 404, 'route_unknown'],
      ['/v1beta/models/nobody:generateContent', 404, 'model_unknown'],
      ['/v1beta/nothing', 404, 'route_unknown'],
      ['/v1beta/models/%ff:generateContent', 404, 'route_unknown'],
    ] as const) {
      const reply = await gates.ask(path, { headers: { 'x-goog-api-key': run.token }, body: '{}' });
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([status, reason]);
      const details = [expect.objectContaining({ reason, domain: 'sallyport' })];
      const error = { code: status, message: expect.any(String), status: expect.any(String), details };
      expect(JSON.parse(reply.text)).toEqual({ error });
    }
  });
});

describe('the token', () => {
  const places: readonly (readonly [name: string, path: string, headers: () => Record<string, string>])[] = [
    ['a bearer', '', () => ({ authorization: `Bearer ${run.token}` })],
    ['x-api-key', '', () => ({ 'x-api-key': run.token })],
    ['x-goog-api-key', '', () => ({ 'x-goog-api-key': run.token })],
    ['both of an apiKeyHelper', '', () => ({ authorization: `Bearer ${run.token}`, 'x-api-key': run.token })],
    ['both of Gemini CLI', '', () => ({ authorization: `Bearer ${run.token}`, 'x-goog-api-key': run.token })],
    ['the query', '?alt=sse&key=TOKEN&a=%41', () => ({})],
    ['the query and a header', '?key=TOKEN', () => ({ 'x-goog-api-key': run.token })],
  ];
  for (const [name, query, headers] of places) {
    it(`is taken in every dialect, and does not go on: ${name}`, async () => {
      for (const path of ['/v1/messages', '/v1/responses', '/v1beta/models/team/m:generateContent']) {
        const reply = await gates.ask(path + query.replace('TOKEN', run.token), { headers: headers(), body });
        expect(reply.status).toBe(200);
        expect(provider.asked.at(-1)?.path).toBe(path + (query.includes('alt') ? '?alt=sse&a=%41' : ''));
      }
    });
  }

  it('is not taken beside another credential', async () => {
    const other = await gates.run();
    for (const [path, headers] of [
      ['/v1/messages', { authorization: `Bearer ${run.token}`, 'x-api-key': other.token }],
      [`/v1/messages?key=${other.token}`, { 'x-api-key': run.token }],
    ] as const) {
      const reply = await gates.ask(path, { headers, body });
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([400, 'request_malformed']);
      expect(reply.text).not.toContain(other.token);
      expect(JSON.parse(reply.text).error.message).toContain('two different credentials were sent');
    }
    expect(provider.asked).toEqual([]);
  });
});

describe('the catalogue', () => {
  const list = async (path: string, headers: Record<string, string> = {}) => {
    const reply = await gates.ask(path, {
      method: 'GET',
      headers: { authorization: `Bearer ${run.token}`, ...headers },
    });
    return { status: reply.status, json: JSON.parse(reply.text) };
  };
  const anthropic = { 'anthropic-version': '2099-01-01' };

  it('is listed as OpenAI does', async () => {
    for (const path of ['/v1/models', '/models']) {
      const { json } = await list(path);
      expect(Object.keys(json)).toEqual(['object', 'data']);
      const model = { object: 'model', created: expect.any(Number), owned_by: 'sallyport' };
      expect(json.data).toContainEqual({ id: 'team/m', ...model, dialects: [...DIALECTS] });
    }
    expect((await list('/v1/models/team/m')).json).toMatchObject({ id: 'team/m', object: 'model' });
    expect((await list('/v1/models/team%2Fm')).json).toMatchObject({ id: 'team/m', object: 'model' });
    const gone = await list('/v1/models/nobody');
    expect([gone.status, gone.json.error.code, gone.json.error.param]).toEqual([404, 'model_unknown', null]);
    expect(gone.json.error.message).toContain('"nobody"');
  });

  it('is listed as Anthropic does, in pages', async () => {
    const all = (await list('/v1/models?limit=1000', anthropic)).json;
    const names = all.data.map(({ id }: { id: string }) => id);
    expect(names).toEqual(expect.arrayContaining(['alias', 'fixture/echo', 'team/m']));
    expect(all).toMatchObject({ has_more: false, first_id: names[0], last_id: names.at(-1) });
    const first = (await list('/models?limit=1', anthropic)).json;
    expect(first).toMatchObject({ has_more: true, first_id: names[0], last_id: names[0] });
    const rest = (await list(`/v1/models?limit=1000&after_id=${encodeURIComponent(names[0])}`, anthropic))
      .json;
    expect([rest.has_more, rest.data.length]).toEqual([false, names.length - 1]);
    const none = (await list('/v1/models?after_id=gone', anthropic)).json;
    expect(none).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
    const one = (await list('/v1/models/team/m', anthropic)).json;
    expect(one).toMatchObject({ type: 'model', id: 'team/m', display_name: 'team/m' });
    expect((await list('/v1/models/nobody', anthropic)).json).toMatchObject({ type: 'error' });
  });

  it('is listed as Gemini does, in pages', async () => {
    for (const path of ['/v1beta/models', '/v1/models']) {
      const headers = path === '/v1/models' ? { 'x-goog-api-key': run.token } : {};
      const first = (await list(`${path}?pageSize=1`, headers)).json;
      expect(first.models).toHaveLength(1);
      const second = (await list(`${path}?pageToken=${encodeURIComponent(first.nextPageToken)}`, headers))
        .json;
      expect(second.nextPageToken).toBeUndefined();
      expect(second.models).toContainEqual(expect.objectContaining({ name: 'models/team/m' }));
    }
    const one = (await list('/v1beta/models/team/m')).json;
    expect(one).toMatchObject({
      name: 'models/team/m',
      supportedGenerationMethods: expect.arrayContaining(METHODS),
    });
  });

  it('shows only what the session may call', async () => {
    const narrow = await gates.run({ models: ['alias'] });
    const headers = { authorization: `Bearer ${narrow.token}` };
    expect((await list('/v1/models', headers)).json.data).toMatchObject([{ id: 'alias' }]);
    expect((await list('/v1/models/team/m', headers)).status).toBe(404);
  });
});
