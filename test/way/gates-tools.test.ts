/** A call of an HTTP tool through the real gates: what the tool gets, and how each failure comes back. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Behaviour, type Provider, startProvider } from '../support/provider.ts';

const TOKEN = 'tool-canary-5d1e90aa';
let tool: Provider;
/** Its CA is one that nobody trusts. */
let forged: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  tool = await startProvider('tool.test');
  forged = await startProvider('forged.test');
  const dead = await startProvider('dead.test');
  await dead.close();
  gates = await startTestGates([tool, { ...forged, caPem: null }, { ...dead, caPem: null }]);
  const { world } = gates;
  const at = `https://tool.test:${tool.port}`;
  const hosts = [`tool.test:${tool.port}`];
  await world.call('PUT', '/v1/vaults/test');
  const put = (name: string, body: object) => world.call('PUT', `/v1/vaults/test/credentials/${name}`, body);
  await put('bearer', { kind: 'bearer', hosts, secret: { value: TOKEN } });
  await put('headers', { kind: 'headers', hosts, secret: { 'X-One': TOKEN, 'X-Two': `${TOKEN}-2` } });
  await put('elsewhere', { kind: 'bearer', hosts: ['elsewhere.test'], secret: { value: TOKEN } });
  await put('anns', { kind: 'bearer', user: 'ann', hosts, secret: { value: TOKEN } });
  await put('gone', { kind: 'bearer', hosts, secret: { value: TOKEN } });
  await put('oauth', {
    kind: 'oauth',
    hosts,
    tokenUrl: 'https://tool.test/token',
    clientId: 'x',
    grant: 'client_credentials',
    secret: { client_secret: TOKEN },
  });
  const others = [`forged.test:${forged.port}`, `dead.test:${dead.port}`, 'nowhere.test'];
  await put('others', { kind: 'bearer', hosts: others, secret: { value: TOKEN } });
  const inputSchema = { type: 'object' };
  const declare = (more: object) => ({ url: `${at}/do?fixed=1`, method: 'POST', inputSchema, ...more });
  run = await gates.run({
    httpTools: {
      post: declare({ credential: 'test/bearer' }),
      get: declare({ method: 'GET', credential: 'test/headers' }),
      strict: declare({
        credential: 'test/bearer',
        inputSchema: {
          type: 'object',
          required: ['n'],
          properties: { n: { type: 'integer' } },
          additionalProperties: false,
        },
      }),
      broken: declare({ credential: 'test/bearer', inputSchema: { type: 'no such type' } }),
      hasty: declare({ credential: 'test/bearer', timeoutMs: 150 }),
      elsewhere: declare({ credential: 'test/elsewhere' }),
      anns: declare({ credential: 'test/anns' }),
      'wrong-kind': declare({ credential: 'test/oauth' }),
      'no-such': declare({ credential: 'test/gone' }),
      dead: declare({ url: `https://dead.test:${dead.port}/`, credential: 'test/others' }),
      forged: declare({ url: `https://forged.test:${forged.port}/`, credential: 'test/others' }),
      nowhere: declare({ url: 'https://nowhere.test/', credential: 'test/others' }),
      'other-port': declare({ url: 'https://tool.test:8444/' }),
      private: declare({ url: 'https://localhost/' }),
      literal: declare({ url: 'https://169.254.169.254/' }),
    },
  });
  await world.call('DELETE', '/v1/vaults/test/credentials/gone');
});
afterAll(async () => {
  await gates?.close();
  await tool?.close();
  await forged?.close();
});
afterEach(() => {
  expect(gates.world.logged()).not.toContain(TOKEN);
  tool.asked.length = 0;
});

const call = (name: string, body: string | object = { input: {} }): Promise<Reply> =>
  gates.ask(`/v1/http-calls/${name}`, {
    headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const answering =
  (status: number, type: string, body: string | Buffer): Behaviour =>
  (_asked, response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  };

describe('a tool that is called', () => {
  it('gets the input as JSON, with the credential and nothing of the caller', async () => {
    tool.behave = answering(200, 'application/json', '{"done":[1,"漢"]}');
    const reply = await call('post', {
      input: { url: 'http://127.0.0.1/', headers: { Host: 'x' }, text: 'é' },
    });
    expect(JSON.parse(reply.text)).toEqual({ ok: true, output: { done: [1, '漢'] } });
    const [asked] = tool.asked;
    expect([asked?.method, asked?.path]).toEqual(['POST', '/do?fixed=1']);
    expect(asked?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
    });
    expect(JSON.parse(asked?.body.toString() ?? '')).toEqual({
      url: 'http://127.0.0.1/',
      headers: { Host: 'x' },
      text: 'é',
    });
    expect(asked?.rawHeaders.join(' ')).not.toContain(run.token);
  });

  it('gets it as an encoded query with GET', async () => {
    tool.behave = answering(200, 'text/plain', 'just text');
    const reply = await call('get', { input: { q: 'a&b=c\r\nX-Evil: 1', n: 5, deep: { a: [null] } } });
    expect(JSON.parse(reply.text)).toEqual({ ok: true, output: 'just text' });
    expect(tool.asked[0]?.path).toBe(
      '/do?fixed=1&q=a%26b%3Dc%0D%0AX-Evil%3A%201&n=5&deep=%7B%22a%22%3A%5Bnull%5D%7D',
    );
    expect(tool.asked[0]?.headers).toMatchObject({ 'x-one': TOKEN, 'x-two': `${TOKEN}-2` });
    expect(tool.asked[0]?.body.length).toBe(0);
  });

  it('may answer with nothing, and never gives the secret back', async () => {
    tool.behave = answering(204, 'text/plain', '');
    expect(JSON.parse((await call('post')).text)).toEqual({ ok: true, output: null });
    tool.behave = answering(200, 'application/json', JSON.stringify({ said: `Bearer ${TOKEN}` }));
    expect((await call('post')).text).toBe(
      `{"ok":true,"output":{"said":"Bearer ${'*'.repeat(TOKEN.length)}"}}`,
    );
  });

  it('uses a rotated credential with the next call', async () => {
    tool.behave = answering(200, 'text/plain', '');
    await gates.world.call('POST', '/v1/vaults/test/credentials/bearer/rotate', {
      secret: { value: `${TOKEN}-next` },
    });
    for (
      let tries = 0;
      tries < 100 && !tool.asked.at(-1)?.headers.authorization?.endsWith('-next');
      tries += 1
    )
      await call('post');
    expect(tool.asked.at(-1)?.headers.authorization).toBe(`Bearer ${TOKEN}-next`);
  });
});

interface Failure {
  readonly name: string;
  readonly tool: string;
  readonly code: string;
  readonly body?: object;
  readonly behave?: Behaviour;
}

const FAILURES: readonly Failure[] = [
  {
    name: 'an input that does not fit',
    tool: 'strict',
    body: { input: { n: 'x' } },
    code: 'tool.invalid-input',
  },
  { name: 'a field too much', tool: 'strict', body: { input: { n: 1, m: 2 } }, code: 'tool.invalid-input' },
  { name: 'a schema that is none', tool: 'broken', code: 'tool.invalid-input' },
  { name: 'a credential of another host', tool: 'elsewhere', code: 'http.credential' },
  { name: 'another person’s credential', tool: 'anns', code: 'http.credential' },
  { name: 'a credential of a kind that is not served yet', tool: 'wrong-kind', code: 'http.credential' },
  { name: 'a credential that is gone', tool: 'no-such', code: 'http.credential' },
  { name: 'a port that nobody named', tool: 'other-port', code: 'http.refused' },
  { name: 'a private address', tool: 'private', code: 'http.refused' },
  { name: 'an address for a host', tool: 'literal', code: 'http.refused' },
  { name: 'no answer in time', tool: 'hasty', code: 'http.timeout', behave: () => {} },
  {
    name: 'a redirect',
    tool: 'post',
    code: 'http.refused',
    behave: (_a, r) => void r.writeHead(307, { location: 'http://127.0.0.1/' }).end(),
  },
  {
    name: 'too large an answer',
    tool: 'post',
    code: 'http.too-large',
    behave: answering(200, 'text/plain', 'x'.repeat((1 << 20) + 1)),
  },
  {
    name: 'an endless answer',
    tool: 'post',
    code: 'http.too-large',
    behave: (_a, r) => void setInterval(() => r.write('x'.repeat(1 << 16)), 0).unref(),
  },
  {
    name: 'broken JSON',
    tool: 'post',
    code: 'http.invalid-response',
    behave: answering(200, 'application/json', '{'),
  },
  { name: 'no text', tool: 'post', code: 'http.invalid-response', behave: answering(200, 'image/png', 'x') },
  {
    name: 'no UTF-8',
    tool: 'post',
    code: 'http.invalid-response',
    behave: answering(200, 'text/plain', Buffer.from([0xff])),
  },
  {
    name: 'an answer that is cut off',
    tool: 'post',
    code: 'http.lost',
    behave: (_a, r, socket) =>
      void r.writeHead(200, { 'content-length': 9 }).write('x', () => socket.destroy()),
  },
  { name: 'no answer at all', tool: 'post', code: 'http.lost', behave: (_a, _r, socket) => socket.destroy() },
  { name: 'nobody who listens', tool: 'dead', code: 'http.unreachable' },
  { name: 'a certificate that nobody trusts', tool: 'forged', code: 'http.unreachable' },
  { name: 'a host that is not there', tool: 'nowhere', code: 'http.unreachable' },
  {
    name: 'no HTTP',
    tool: 'post',
    code: 'http.invalid-response',
    behave: (_a, _r, socket) => void socket.end('nonsense\r\n\r\n'),
  },
  {
    name: 'a giant head',
    tool: 'post',
    code: 'http.too-large',
    behave: (_a, _r, socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1 << 17)}\r\n\r\n`),
  },
];

describe('a tool that fails', () => {
  for (const { name, tool: called, code, body, behave } of FAILURES) {
    it(`${code}: ${name}`, async () => {
      tool.behave = behave ?? answering(200, 'text/plain', '');
      const reply = await call(called, body);
      expect(reply.status).toBe(200);
      expect(JSON.parse(reply.text)).toMatchObject({
        ok: false,
        error: { code, message: expect.any(String) },
      });
    });
  }

  it('tells its status and what it said', async () => {
    tool.behave = answering(422, 'application/json', '{"field":"n"}');
    const { error } = JSON.parse((await call('post')).text);
    expect(error).toMatchObject({ code: 'http.status', status: 422, output: { field: 'n' } });
  });
});

const BROKEN: readonly (readonly [name: string, body: string])[] = [
  ['no body', ''],
  ['no JSON', 'input=1'],
  ['a list', '[]'],
  ['two documents', '{"input":{}}{"input":{}}'],
  ['a field beside the input', '{"input":{},"url":"http://127.0.0.1/"}'],
  ['an input that is no object', '{"input":[1]}'],
  ['a prototype key', '{"input":{"__proto__":{"x":1}}}'],
  ['a constructor with a prototype', '{"input":{"constructor":{"prototype":{"x":1}}}}'],
  ['a number past the range', '{"input":{"a":1e400}}'],
  ['an integer that would lose digits', '{"input":{"a":12345678901234567890}}'],
  ['too deep', `{"input":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`],
  ['much too deep', `{"input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
];

describe('a tool call that fails', () => {
  for (const [name, body] of BROKEN) {
    it(`is refused before the tool: ${name}`, async () => {
      const reply = await call('post', body);
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([400, 'body_malformed']);
      expect(tool.asked.length).toBe(0);
    });
  }

  it('takes JSON only', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json, text/plain',
      'application/json; charset=utf-16',
    ]) {
      const headers = { authorization: `Bearer ${run.token}`, 'content-type': type };
      const reply = await gates.ask('/v1/http-calls/post', { headers, body: '{"input":{}}' });
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([415, 'media_type_refused']);
    }
  });

  for (const name of ['nothing', 'constructor', '__proto__', 'POST', '%252e%252e', 'post;x=1']) {
    it(`finds no tool ${name}`, async () => {
      const reply = await call(name);
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([403, 'http.undeclared']);
    });
  }

  it('takes at most 1 MiB', async () => {
    const reply = await call('post', { input: { a: 'x'.repeat(1 << 20) } });
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([413, 'body_too_large']);
  });

  it('is over with its turn', async () => {
    const mine = await gates.run({ httpTools: {} });
    await gates.world.call('POST', `/v1/turns/${mine.turn}/cancel`);
    const headers = { authorization: `Bearer ${mine.token}`, 'content-type': 'application/json' };
    const reply = await gates.ask('/v1/http-calls/post', { headers, body: '{"input":{}}' });
    expect([reply.status, JSON.parse(reply.text).error.code, reply.headers['x-should-retry']]).toEqual([
      409,
      'run_stale',
      'false',
    ]);
  });
});
