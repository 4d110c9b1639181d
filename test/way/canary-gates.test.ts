/**
 * Promise 1 at the gates, in every dialect: whatever kind a model's credential is and wherever it goes on, wherever the
 * caller puts its token, and however a call ends, no secret and no token comes back, and none stays in a log, a metric,
 * the ledger or the rest of the database. What was asked stays nowhere either: a prompt comes back to its caller alone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIALECTS, type Dialect } from '../../core-lite/state/dialect.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import { ANSWERS, answerCall, keyOf } from './canary-provider.ts';
import { CanaryStand } from './canary-stand.ts';
import { LeakFinder } from './leak-finder.ts';

let provider: Provider;
let spare: Provider;
let stand: CanaryStand;
let token: string;

beforeAll(async () => {
  [provider, spare] = [await startProvider('provider.test'), await startProvider('spare.test')];
  provider.behave = answerCall;
  spare.behave = answerCall;
  stand = await CanaryStand.start([provider, spare].map(({ host: name, caPem }) => ({ name, caPem })));
  await stand.call('PUT', '/v1/vaults/gates');
  token = await openRun('canary');
}, 60_000);
afterAll(async () => {
  await stand?.close();
  await Promise.all([provider, spare].map((each) => each?.close()));
}, 60_000);

/** Whose models there are: their provider, its dialects, the kind of the credential and where the provider gets it. */
const MODELS: readonly (readonly [
  name: string,
  provider: string,
  dialects: readonly Dialect[],
  kind: string,
  header: string,
])[] = [
  ['openai', 'openai', ['openai', 'responses', 'embeddings'], 'model_key', 'authorization'],
  ['anthropic', 'anthropic', ['anthropic'], 'model_key', 'x-api-key'],
  ['google', 'google', ['gemini', 'openai'], 'model_key', 'x-goog-api-key'],
  ['azure', 'azure', ['openai', 'responses'], 'model_key', 'api-key'],
  ['bearer', 'custom', DIALECTS, 'bearer', 'authorization'],
  ['headers', 'custom', DIALECTS, 'headers', 'x-tool-key'],
];

describe('a credential of a model', { timeout: 120_000 }, () => {
  it('is put, of every kind, for providers that each take it elsewhere', async () => {
    for (const [name, of, dialects, kind] of MODELS) {
      const secret = { [kind === 'headers' ? 'x-tool-key' : 'value']: plantWord(`key of ${name}`) };
      await putModel(name, provider, { provider: of, dialects, upstreamName: 'gpt-5' }, { kind, secret });
    }
    const secret = { value: plantWord('key of the spare') };
    await putModel('spare', spare, { dialects: DIALECTS }, { kind: 'model_key', secret });
    const falling = { provider: 'custom', dialects: DIALECTS, fallbacks: ['spare'] };
    const other = { kind: 'model_key', secret: { value: plantWord('key of what falls back') } };
    await putModel('falls-back', provider, falling, other);
  });

  for (const [name, , dialects, , header] of MODELS) {
    it(`goes out where its provider takes it, however the call ends: ${name}`, async () => {
      for (const dialect of dialects)
        for (const say of Object.keys(ANSWERS))
          for (const streamed of [false, true]) await call(dialect, name, say, streamed);
      const keys = provider.asked.filter(({ headers }) => keyOf(headers) === canaryOf(`key of ${name}`));
      expect(keys.length).toBeGreaterThan(dialects.length * Object.keys(ANSWERS).length);
      expect(keys.some(({ headers }) => headers[header] !== undefined)).toBe(true);
    });
  }

  it('falls back, and each key goes to its own host', async () => {
    for (const dialect of DIALECTS)
      for (const say of ['500', '429', 'junk', 'die', 'redirect', 'fine'])
        await call(dialect, 'falls-back', say, true);
    const keys = (of: Provider) => new Set(of.asked.map(({ headers }) => keyOf(headers)));
    expect(keys(spare)).toEqual(new Set([canaryOf('key of the spare')]));
    expect(keys(provider)).not.toContain(canaryOf('key of the spare'));
    const seen = [...provider.asked, ...spare.asked].map(({ path, rawHeaders, body }) => [
      path,
      rawHeaders,
      body.toString(),
    ]);
    expect(JSON.stringify(seen)).not.toContain(token);
  });

  it('is rotated while calls use it', async () => {
    const secret = { value: plantWord('key of openai, rotated') };
    await stand.call('POST', '/v1/vaults/gates/credentials/openai/rotate', { secret });
    const seen = async (): Promise<string> => {
      await call('openai', 'openai', '401', false);
      return keyOf(provider.asked.at(-1)?.headers ?? {});
    };
    await expect.poll(seen).toBe(canaryOf('key of openai, rotated'));
  });
});

describe('a run token', { timeout: 60_000 }, () => {
  it('is shown in every place, alone and twice, rightly and wrongly, and in what is recorded of the client', async () => {
    const statuses = new Set<number>();
    for (const shown of [token, `${token}x`, token.slice(1), stand.adminKey, canaryOf('key of openai')]) {
      for (const place of PLACES) {
        const { headers, query } = place(shown);
        for (const dialect of DIALECTS)
          statuses.add((await call(dialect, 'bearer', 'fine', false, { headers, query })).status);
        for (const path of ['/v1/models', '/v1beta/models', '/v1/models/nobody', '/v1/nothing'])
          statuses.add((await ask(path + query, { method: 'GET', headers })).status);
      }
      const hints = Object.fromEntries(HINTS.map((name) => [name, shown]));
      const turn = JSON.stringify({ session_id: token, agent_name: token, thread_id: token });
      const headers = {
        'x-api-key': token,
        ...(shown === token ? hints : {}),
        'x-codex-turn-metadata': turn,
      };
      statuses.add(
        (
          await call('openai', 'bearer', 'fine', false, {
            headers,
            query: `?a=${token}&b=${encodeURIComponent(`<${token}>`)}`,
          })
        ).status,
      );
      statuses.add((await call('openai', token, 'fine', false)).status);
    }
    for (const each of [200, 400, 401, 404]) expect(statuses).toContain(each);
  });
});

describe('a prompt', { timeout: 60_000 }, () => {
  it('comes back from a fixture model to its caller alone', async () => {
    const prompt = stand.plant('prompt');
    for (const dialect of DIALECTS)
      for (const streamed of [false, true])
        for (const model of ['fixture/echo', 'fixture/tools'])
          await call(dialect, model, prompt, streamed, { except: 'prompt' });
    for (const dialect of DIALECTS) await call(dialect, 'nobody', prompt, false);
  });

  it('is refused by budgets, without a word of it', async () => {
    const prompt = canaryOf('prompt');
    const poor = await openRun('poor');
    const put = (name: string, measure: string, limit: number, period: string) =>
      stand.call('PUT', `/v1/budgets/${name}`, { scope: 'agent', value: 'poor', measure, limit, period });
    const headers = { authorization: `Bearer ${poor}` };
    const refused = new Set<string>();
    for (const [name, measure, limit, period] of [
      ['money', 'cost_usd', 0.000001, 'day'],
      ['tokens', 'tokens', 1, 'lifetime'],
      ['rate', 'tokens', 1, 'minute'],
    ] as const) {
      expect(await put(name, measure, limit, period)).toMatchObject({ status: 200 });
      for (const model of ['openai', 'bearer', 'anthropic', 'google'])
        for (const dialect of DIALECTS)
          refused.add(
            /"sallyport-reason","(\w+)"/.exec(
              (await call(dialect, model, prompt, true, { headers })).text,
            )?.[1] ?? '',
          );
      await stand.call('DELETE', `/v1/budgets/${name}`);
    }
    for (const each of ['budget_exceeded', 'rate_limited', 'price_unknown', 'dialect_unserved'])
      expect(refused).toContain(each);
  });
});

describe('all of that', { timeout: 60_000 }, () => {
  it('is nowhere', async () => {
    for (const path of [
      'usage?by=model',
      'usage/calls?limit=500',
      'budgets',
      'models',
      'refusal-counts',
      'admin-events',
      'tenant/settings',
    ])
      expect([path, (await stand.call('GET', `/v1/${path}`)).status]).toEqual([path, 200]);
    for (const words of [
      'usage --by client-agent',
      'usage --calls',
      'usage --calls --json',
      'model list --json',
      'budget list',
      'doctor',
    ])
      await stand.type(words.split(' '));
    await stand.plantInner();
    const outcomes = async () => (await stand.call('GET', '/v1/usage/calls?limit=500')).text;
    for (const each of [
      'provider_died',
      'provider_failed',
      'redirect_refused',
      'client_left',
      'provider_error',
    ])
      await expect.poll(outcomes).toContain(`"${each}"`);
    await stand.collect();
    const finder = new LeakFinder(stand.canaries);
    expect(stand.said.length).toBeGreaterThan(500);
    const found = stand.said.flatMap(({ where, text, except }) =>
      finder.search(text, except === undefined ? [] : [except]).map((finding) => ({ where, ...finding })),
    );
    expect(found).toEqual([]);
    // What may be there is there: the search would have seen it.
    const echoed = stand.said.filter(({ except, text }) => except === 'prompt' && text.startsWith('200'));
    expect(echoed.filter(({ text }) => finder.search(text).length > 0).length).toBeGreaterThan(10);
  });
});

interface Shown {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
}

const PLACES: readonly ((shown: string) => Shown)[] = [
  (shown) => ({ headers: { authorization: `Bearer ${shown}` }, query: '' }),
  (shown) => ({ headers: { authorization: `Basic ${btoa(shown)}` }, query: '' }),
  (shown) => ({ headers: { 'x-api-key': shown }, query: '' }),
  (shown) => ({ headers: { 'x-goog-api-key': shown }, query: '?alt=sse' }),
  (shown) => ({ headers: { 'api-key': shown }, query: '' }),
  (shown) => ({ headers: {}, query: `?key=${encodeURIComponent(shown)}&alt=sse` }),
  (shown) => ({
    headers: { 'x-api-key': shown, 'x-goog-api-key': shown },
    query: `?key=${encodeURIComponent(shown)}`,
  }),
  (shown) => ({ headers: { 'x-api-key': shown, authorization: `Bearer ${shown}y` }, query: '' }),
];
const HINTS = [
  'session-id',
  'thread-id',
  'x-claude-code-session-id',
  'x-claude-code-agent-id',
  'x-client-request-id',
  'user-agent',
];

const PATHS: Readonly<Record<Dialect, (model: string, streamed: boolean) => string>> = {
  openai: () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  embeddings: () => '/v1/embeddings',
  anthropic: (_model, streamed) => (streamed ? '/v1/messages' : '/messages/count_tokens'),
  gemini: (model, streamed) =>
    `/v1beta/models/${encodeURIComponent(model)}:${streamed ? 'streamG' : 'g'}enerateContent`,
};

interface Asking {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** What its answer may hold. */
  readonly except?: string;
}

function call(dialect: Dialect, model: string, say: string, streamed: boolean, asking: Asking = {}) {
  const { headers: shown = { authorization: `Bearer ${token}` }, query = '', except } = asking;
  const headers = { ...shown, 'content-type': 'application/json' };
  const bodies: Readonly<Record<Dialect, object>> = {
    openai: { messages: [{ role: 'user', content: say }] },
    responses: { input: say },
    embeddings: { input: say },
    anthropic: { messages: [{ role: 'user', content: say }], max_tokens: 9 },
    gemini: { contents: [{ parts: [{ text: say }] }] },
  };
  const body = JSON.stringify({ model, ...bodies[dialect], ...(streamed ? { stream: true } : {}) });
  return ask(PATHS[dialect](model, streamed) + query, { method: 'POST', headers, body }, except);
}

/** Asks the gates. Status 0 where there was no answer. */
async function ask(
  path: string,
  request: RequestInit,
  except?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const url = `http://127.0.0.1:${stand.gates.address.port}${path}`;
  const signal = AbortSignal.timeout(String(request.body).includes('"hang"') ? 150 : 20_000);
  const answer = await fetch(url, { ...request, signal, redirect: 'manual' }).catch(() => null);
  if (!answer) return { status: 0, text: '' };
  const head = `${answer.status} ${answer.statusText} ${JSON.stringify([...answer.headers].flat())}`;
  const text = `${head}\n${await answer.text().catch(() => '')}`;
  stand.note(`${request.method} to the gates: ${answer.status}`, text, except);
  return { status: answer.status, text };
}

async function openRun(agent: string): Promise<string> {
  const { world } = stand;
  const session = await world.call<{ id: string }>('POST', '/v1/sessions', { agent });
  const turn = await world.call<{ id: string }>('POST', `/v1/sessions/${session.id}/turns`);
  const { runToken } = await world.call<{ runToken: string }>('POST', `/v1/turns/${turn.id}/lease`, {
    holder: 'test',
  });
  stand.plantToken(`run token of ${agent}`, runToken);
  return runToken;
}

async function putModel(name: string, at: Provider, model: object, credential: object): Promise<void> {
  const hosts = [`${at.host}:${at.port}`];
  const path = `/v1/vaults/gates/credentials/${name}`;
  expect(await stand.call('PUT', path, { ...credential, hosts })).toMatchObject({ status: 200 });
  const body = { baseUrl: `https://${at.host}:${at.port}`, credential: `gates/${name}`, ...model };
  expect(await stand.call('PUT', `/v1/models/${name}`, body)).toMatchObject({ status: 200 });
}

/** A canary as keys look, which JSON leaves as it is: what is masked is the plain spelling. */
function plantWord(name: string): string {
  const value = `sk-cnry-${crypto.randomUUID()}`;
  stand.canaries.push({ name, value });
  return value;
}

function canaryOf(name: string): string {
  return String(stand.canaries.find((canary) => canary.name === name)?.value);
}
