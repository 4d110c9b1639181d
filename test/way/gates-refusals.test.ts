/** Every way in which a call is refused, through the real listener: the shape of the dialect, the word, who may try again. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeId } from '../../core-lite/id.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import { REFUSALS, type RefusalReason } from '../../gates/reasons.ts';
import { connectTo } from '../support/client.ts';
import {
  type Ask,
  putModel,
  type Reply,
  startTestGates,
  type TestGates,
  type TestRun,
} from '../support/gates.ts';
import { freePort } from '../support/origin.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-refused-77';
let provider: Provider;
let plain: Provider;
let gates: TestGates;
let run: TestRun;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  provider = await startProvider('provider.test');
  plain = await startProvider('plain.test', { plain: true });
  gates = await startTestGates([provider, plain]);
  const { world } = gates;
  await putModel(gates, 'good', provider, { key: KEY });
  await putModel(gates, 'only-openai', provider, { key: KEY, dialects: ['openai'] });
  await putModel(gates, 'open-http', plain);
  await world.call('PUT', '/v1/vaults/test/credentials/elsewhere', {
    kind: 'bearer',
    hosts: ['elsewhere.test'],
    secret: { value: KEY },
  });
  await world.call('PUT', '/v1/vaults/test/credentials/ann', {
    kind: 'bearer',
    user: 'ann',
    hosts: [`provider.test:${provider.port}`],
    secret: { value: KEY },
  });
  const put = (name: string, baseUrl: string, credential?: string) =>
    world.call('PUT', `/v1/models/${name}`, {
      baseUrl,
      dialects: ['openai', 'anthropic'],
      ...(credential ? { credential: `test/${credential}` } : {}),
    });
  const at = `https://provider.test:${provider.port}`;
  await put('astray', at, 'elsewhere');
  await put('anns', at, 'ann');
  await put('private', 'https://localhost:1');
  await put('closed', `https://provider.test:${await freePort()}`);
  run = await gates.run();
  Object.assign(tokens, await makeTokens());
}, 60_000);
afterAll(async () => {
  expect(gates.world.logged()).not.toContain(KEY);
  await gates?.close();
  await provider?.close();
  await plain?.close();
});

async function makeTokens(): Promise<Record<string, string>> {
  const over = await gates.run();
  await gates.world.call('POST', `/v1/turns/${over.turn}/cancel`);
  const taken = await gates.run();
  await gates.world.call('POST', `/v1/turns/${taken.turn}/lease`, { holder: 'another' });
  const listed = await gates.run({ models: ['good'] });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [tenant] = await gates.owner.query<{ id: string }>('SELECT id FROM tenant');
  const [key] = await gates.owner.query<{ kid: string }>(
    `SELECT kid FROM signing_keys WHERE state = 'current'`,
  );
  const claims = { sub: makeId('ses'), trn: makeId('trn'), agt: 'x', epc: 1 };
  const pem = await crypto.subtle.importKey(
    'pkcs8',
    privateKey.export({ type: 'pkcs8', format: 'der' }),
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign'],
  );
  const foreign = await mintToken(
    'run',
    claims,
    { kid: key?.kid ?? '', privateKey: pem } as never,
    tenant?.id ?? '',
    new Date(),
  );
  await gates.world.call('PUT', '/v1/environments/e1', {});
  return {
    cancelled: over.token,
    overtaken: taken.token,
    listed: listed.token,
    foreign: foreign.token.reveal(),
    egress: await gates.world.token('e1'),
  };
}

const ask = (model: string, token = run.token): Ask => ({
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model, messages: [] }),
});

interface Case {
  readonly name: string;
  readonly reason: RefusalReason;
  readonly path?: string;
  readonly ask: () => Ask;
}

const CASES: readonly Case[] = [
  { name: 'no token', reason: 'token_missing', ask: () => ({ body: '{}' }) },
  {
    name: 'no token in it',
    reason: 'token_malformed',
    ask: () => ({ headers: { authorization: 'Basic x' } }),
  },
  { name: 'a word', reason: 'token_malformed', ask: () => ask('good', 'word') },
  { name: 'a token of another key', reason: 'token_untrusted', ask: () => ask('good', tokens['foreign']) },
  { name: 'an egress token', reason: 'token_untrusted', ask: () => ask('good', tokens['egress']) },
  { name: 'a cancelled turn', reason: 'run_stale', ask: () => ask('good', tokens['cancelled']) },
  { name: 'a lease that was taken over', reason: 'run_stale', ask: () => ask('good', tokens['overtaken']) },
  {
    name: 'a model that the session does not name',
    reason: 'model_undeclared',
    ask: () => ask('orphan', tokens['listed']),
  },
  { name: 'a model that is not there', reason: 'model_unknown', ask: () => ask('nobody') },
  {
    name: 'a dialect that it does not speak',
    reason: 'dialect_unserved',
    path: '/v1/messages',
    ask: () => ask('only-openai'),
  },
  { name: 'a credential for another host', reason: 'credential_host', ask: () => ask('astray') },
  { name: 'another person’s credential', reason: 'credential_user', ask: () => ask('anns') },
  { name: 'a private address', reason: 'address_refused', ask: () => ask('private') },
  { name: 'nobody listens', reason: 'connect_failed', ask: () => ask('closed') },
  { name: 'no model', reason: 'model_missing', ask: () => ({ ...ask('x'), body: '{"messages":[]}' }) },
  {
    name: 'two models',
    reason: 'body_malformed',
    ask: () => ({ ...ask('x'), body: '{"model":"good","model":"alias"}' }),
  },
  {
    name: 'a model in capitals',
    reason: 'body_malformed',
    ask: () => ({ ...ask('x'), body: '{"model":"good","Model":"alias"}' }),
  },
  {
    name: 'a further model',
    reason: 'further_model',
    ask: () => ({ ...ask('x'), body: '{"model":"good","models":["alias"]}' }),
  },
  { name: 'no JSON', reason: 'body_malformed', ask: () => ({ ...ask('x'), body: 'model=good' }) },
  {
    name: 'an unknown encoding',
    reason: 'encoding_refused',
    ask: () => ({ ...ask('good'), headers: { ...ask('good').headers, 'content-encoding': 'zip' } }),
  },
  {
    name: 'a broken encoding',
    reason: 'body_malformed',
    ask: () => ({ ...ask('good'), headers: { ...ask('good').headers, 'content-encoding': 'gzip' } }),
  },
  {
    name: 'too large a body',
    reason: 'body_too_large',
    ask: () => ({ ...ask('good'), body: Buffer.alloc(33 * 1024 * 1024, ' ') }),
  },
  {
    name: 'another host',
    reason: 'host_refused',
    ask: () => ({ headers: { ...ask('x').headers, host: 'evil.test' } }),
  },
  { name: 'no such route', reason: 'route_unknown', path: '/v1/nothing', ask: () => ask('good') },
];

/** Which routes a case goes to, and in whose shape each answers. */
function routesOf(path: string | undefined): readonly (readonly [path: string, surface: string])[] {
  if (path === undefined) return ROUTES;
  return [[path, path === '/v1/messages' ? 'anthropic' : 'own']];
}

function expectRefusal(reply: Reply, reason: RefusalReason, surface: string): void {
  const { status, text, again } = REFUSALS[reason];
  expect(reply.status).toBe(status);
  expect(reply.headers['sallyport-reason']).toBe(reason);
  expect(reply.headers['x-should-retry']).toBe(again ? undefined : 'false');
  expect(reply.headers['www-authenticate'] !== undefined).toBe(status === 401);
  const body = JSON.parse(reply.text);
  expect(body.error.code).toBe(reason);
  expect(body.error.message).toContain(text);
  expect(body).toMatchObject(SHAPES[surface] ?? {});
}

describe('a refused model call', () => {
  for (const { name, reason, path, ask: make } of CASES) {
    it(`${reason}: ${name}`, async () => {
      for (const [each, surface] of routesOf(path))
        expectRefusal(await gates.ask(each, make()), reason, surface);
    });
  }

  it('names the model, cleaned and cut, in the shape of the dialect', async () => {
    const odd = `\u001b[31m\u202e${'n'.repeat(300)}`;
    for (const [path] of ROUTES) {
      const message = async (asked: Ask): Promise<string> =>
        JSON.parse((await gates.ask(path, asked)).text).error.message;
      expect(await message(ask('nobody'))).toContain('there is no such model: "nobody"; ');
      expect(await message(ask('orphan', tokens['listed']))).toContain('this model: "orphan"; ');
      expect(await message(ask(odd))).toContain(`: "?[31m?${'n'.repeat(122)}"; `);
    }
  });

  const json = (more: string): Ask => ({ ...ask('good'), body: `{"model":"good",${more}}` });
  it.each<[what: string, path: string, make: () => Ask, message: string]>([
    ['field', 'chat/completions', () => json('"n":0'), 'takes: n is not a positive whole number'],
    ['field', 'messages', () => json('"stream":1'), 'takes: stream is not true or false'],
    [
      'field',
      'responses',
      () => json('"background":true'),
      'takes: background is not served: its usage would come later',
    ],
    [
      'field twice',
      'chat/completions',
      () => json('"n":1,"n":1'),
      'takes: n is there twice, or in other letters',
    ],
    [
      'coding',
      'messages',
      () => ({ ...ask('good'), headers: { ...ask('good').headers, 'content-encoding': 'gzip' } }),
      'takes: it is not the gzip that its Content-Encoding says, or not all of it',
    ],
    [
      'form',
      'models/good:generateContent?alt=proto',
      () => ask('good'),
      'well-formed: the query’s alt is not served as it is',
    ],
    [
      'host',
      'messages',
      () => ask('private'),
      'the host resolves to no public address: "localhost"; have an operator open its network: SALLYPORT_OPEN_NETWORKS with localhost=CIDR, as in localhost=10.0.0.0/8',
    ],
    [
      'nothing of the path',
      'nothing/here?key=word',
      () => ask('good'),
      `there is no such route; ${REFUSALS.route_unknown.remedy}`,
    ],
  ])('says which %s it is, and no remedy that is not one: %s', async (_what, path, make, message) => {
    const reply = await gates.ask(`/v1/${path}`, make());
    expect(JSON.parse(reply.text).error.message.slice(-message.length)).toBe(message);
  });

  it('tells a pod’s placeholder from a key', async () => {
    const reply = await gates.ask('/v1/messages', ask('good', 'sallyport-managed'));
    expect(reply.headers['sallyport-reason']).toBe('token_malformed');
    const { message } = JSON.parse(reply.text).error;
    expect(message).toMatch(
      /run token: sallyport-managed stands for a key only .* base URL of the pod’s relay; /,
    );
    expect((await gates.ask('/v1/messages', ask('good', 'word'))).text).not.toContain('managed');
  });

  it('reaches every reason that a caller can cause', () => {
    const reached = new Set(CASES.map(({ reason }) => reason));
    const missing = Object.keys(REFUSALS).filter((reason) => !reached.has(reason as RefusalReason));
    expect(missing.toSorted()).toEqual([...ELSEWHERE].toSorted());
  });

  it('is final for Codex, which knows no x-should-retry', async () => {
    const { headers, ...rest } = ask('good', tokens['cancelled']);
    const reply = await gates.ask('/v1/chat/completions', {
      ...rest,
      headers: { ...headers, 'user-agent': 'codex_cli_rs/0.171.0 (Linux)' },
    });
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([400, 'run_stale']);
  });

  it('leaves a row where there was a run to name, and reaches nobody', async () => {
    const before = provider.asked.length;
    const mine = await gates.run();
    await gates.ask('/v1/chat/completions', ask('astray', mine.token));
    expect(await gates.usage(mine, 1)).toMatchObject([
      { outcome: 'credential_host', status: 403, model: 'astray', output_tokens: null },
    ]);
    expect(provider.asked.length).toBe(before);
  });

  it('never follows a redirect, and never hands it on', async () => {
    provider.behave = (_asked, response) => {
      response.writeHead(307, { location: 'https://elsewhere.test/' });
      response.end();
    };
    const reply = await gates.ask('/v1/messages', ask('good'));
    expect([reply.status, reply.headers['sallyport-reason'], reply.headers.location]).toEqual([
      502,
      'redirect_refused',
      undefined,
    ]);
    const { message } = JSON.parse(reply.text).error;
    expect(message).toContain('a redirect: it leads to the host "elsewhere.test"; have an operator');
    provider.behave = (_asked, response) => void response.writeHead(301, { location: '/v2?secret' }).end();
    const own = JSON.parse((await gates.ask('/v1/messages', ask('good'))).text).error.message;
    expect(own).toBe(`${REFUSALS.redirect_refused.text}; ${REFUSALS.redirect_refused.remedy}`);
    provider.behave = (_asked, response) =>
      void response.writeHead(302, { location: `https://${KEY}.test/` }).end();
    expect((await gates.ask('/v1/messages', ask('good'))).text).not.toContain(KEY);
  });

  it('says that a provider broke off, or speaks no HTTP', async () => {
    for (const answer of ['', 'nonsense\r\n\r\n', `HTTP/1.1 200 OK\r\nx: ${'g'.repeat(1 << 20)}\r\n\r\n`]) {
      provider.behave = (_asked, _response, socket) => void socket.end(answer);
      const reply = await gates.ask('/v1/messages', ask('good'));
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'provider_failed']);
    }
  });

  it('takes plain http into an opened network only', async () => {
    plain.behave = (_asked, response) => void response.end('{"ok":1}');
    expect((await gates.ask('/v1/messages', ask('open-http'))).text).toBe('{"ok":1}');
  });
});

describe('a run that ends', () => {
  it('ends its streams within a second, with the dialect’s error', async () => {
    const closed = Promise.withResolvers<void>();
    provider.behave = (_asked, response, socket) => {
      socket.once('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: a\ndata: {}\n\n');
    };
    const mine = await gates.run();
    const began = Promise.withResolvers<void>();
    const streaming = gates.ask('/v1/messages', {
      ...ask('good', mine.token),
      onData: () => {
        began.resolve();
        return false;
      },
    });
    await began.promise;
    const cancelledAt = Date.now();
    await gates.world.call('POST', `/v1/turns/${mine.turn}/cancel`);
    const reply = await streaming;
    await closed.promise;
    expect(Date.now() - cancelledAt).toBeLessThan(1_000);
    expect(reply.text).toContain('"code":"run_stale"');
    expect(reply.text).toContain('its turn ended or was cancelled, or a newer lease took it over');
    expect(await gates.usage(mine, 1)).toMatchObject([{ outcome: 'run_stale' }]);
    const again = await gates.ask('/v1/messages', ask('good', mine.token));
    expect([again.status, again.headers['x-should-retry']]).toEqual([409, 'false']);
  });
});

describe('what is no call', () => {
  it('answers HEAD / and lists the models of the session', async () => {
    expect((await gates.ask('/', { method: 'HEAD' })).status).toBe(200);
    const headers = { ...ask('x', tokens['listed']).headers, 'anthropic-version': '2023-06-01' };
    const list = JSON.parse((await gates.ask('/v1/models?limit=1000', { method: 'GET', headers })).text);
    expect(list).toMatchObject({
      has_more: false,
      first_id: 'good',
      data: [{ id: 'good', type: 'model' }],
    });
  });

  it('answers an upgrade at once, whatever it is for', async () => {
    const peer = await connectTo(gates.gates.address.port);
    await peer.send(
      'GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    expect((await peer.answer()).status).toBe(426);
  });

  for (const [name, head] of [
    ['two hosts', 'Host: localhost\r\nHost: evil.test\r\n'],
    ['a credential twice', 'Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n'],
    ['no host', ''],
    ['a host with a user', 'Host: localhost@evil.test\r\n'],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const peer = await connectTo(gates.gates.address.port);
      await peer.send(`POST /v1/messages HTTP/1.1\r\n${head}Content-Length: 0\r\n\r\n`);
      expect([400, 421]).toContain((await peer.answer()).status);
    });
  }
});

const SHAPES: Readonly<Record<string, object>> = {
  anthropic: { type: 'error', error: { type: expect.any(String) } },
  openai: { error: { type: expect.any(String), param: null } },
};
const ROUTES = [
  ['/v1/chat/completions', 'openai'],
  ['/v1/messages', 'anthropic'],
] as const;
/** Other tests reach these: they need time, a database that is away, a gate that stops, or another kind of request. */
const ELSEWHERE: readonly RefusalReason[] = [
  // test/way/gates-mcp-refusals.test.ts, test/way/gates-mcp.test.ts and test/gates/mcp/hostile-clients.test.ts
  'accept_refused',
  'origin_refused',
  'method_refused',
  'mcp_session_missing',
  'mcp_session_unknown',
  'mcp_version_unknown',
  'server_undeclared',
  'mcp_busy',
  // test/way/gates-crossings.test.ts
  'call_unknown',
  'gate_conflict',
  'key_malformed',
  'outcome_expired',
  // test/way/gates-service-tokens.test.ts
  'token_scope',
  // test/way/gates-budgets.test.ts
  'budget_exceeded',
  'price_unknown',
  'rate_limited',
  // test/way/gates-room.test.ts and test/gates/body-room.test.ts
  'run_busy',
  'gate_busy',
  // test/gates/read/arriving-body.test.ts
  'body_timeout',
  'credential_missing',
  'facts_unavailable',
  'internal',
  'media_type_refused',
  'plaintext_refused',
  'provider_busy',
  'provider_certificate',
  'provider_failed',
  'provider_timeout',
  'redirect_refused',
  'request_malformed',
  'resolve_failed',
  'shutting_down',
  'token_expired',
  'upgrade_refused',
  'url_refused',
];
