/** An HTTP tool as its manifest declares it, through the real gates: what of the input goes where, and who is said to call. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Asked, type Behaviour, type Provider, startProvider } from '../support/provider.ts';

const TOKEN = 'tool-canary-77c0ffee';
const INPUT = 'input-canary-0b5e55ed';
let tool: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  tool = await startProvider('tool.test');
  gates = await startTestGates([tool]);
  const { world } = gates;
  const at = `https://tool.test:${tool.port}`;
  const hosts = [`tool.test:${tool.port}`];
  await world.call('PUT', '/v1/vaults/test');
  await world.call('PUT', '/v1/vaults/test/credentials/headers', {
    kind: 'headers',
    hosts,
    secret: { 'X-Key': TOKEN },
  });
  const inputSchema = { type: 'object' };
  const declare = (path: string, method: string, more: object = {}) => ({
    url: at + path,
    method,
    inputSchema,
    credential: 'test/headers',
    ...more,
  });
  run = await gates.run({
    httpTools: {
      item: declare('/item/{id}?fields={fields}&v=2', 'GET', { headers: { 'X-Trace': 't-{trace}' } }),
      drop: declare('/item/{id}', 'DELETE'),
      form: declare('/form', 'POST', { body: 'form' }),
      put: declare('/item/{id}/', 'PUT'),
      patch: declare('/', 'PATCH', { body: { patch: { op: '{op}', value: '{value}' } } }),
      'drop-with': declare('/item', 'DELETE', { body: 'json' }),
      empty: declare('/', 'POST', { body: 'none' }),
      media: declare('/', 'GET', {
        headers: { Accept: 'text/csv', 'User-Agent': 'mine/1', x_key: 'not the vault’s'.replace('’', "'") },
      }),
      fits: declare('/', 'GET', { outputSchema: { type: 'object', required: ['n'] } }),
      unfit: declare('/', 'GET', { outputSchema: { type: 'no such type' } }),
    },
  });
});
afterAll(async () => {
  await gates?.close();
  await tool?.close();
});
afterEach(() => {
  expect(gates.world.logged()).not.toContain(TOKEN);
  expect(gates.world.logged()).not.toContain(INPUT);
  tool.asked.length = 0;
});

const call = (name: string, input: object = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  gates.ask(`/v1/http-calls/${name}`, {
    headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ input }),
  });
const answering =
  (body: string, type = 'application/json'): Behaviour =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(body);
  };
const encoded =
  (encoding: string, body: Buffer): Behaviour =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
    response.end(body);
  };
/** What the tool got; fails unless that was one request. */
async function askedBy(name: string, input: object, headers?: Record<string, string>): Promise<Asked> {
  tool.behave = answering('{}');
  const reply = await call(name, input, headers);
  expect(JSON.parse(reply.text)).toEqual({ ok: true, output: {} });
  const [asked, ...more] = tool.asked;
  expect(more).toEqual([]);
  return asked as Asked;
}

describe('what the tool gets', () => {
  it('has fields of the input in the path, the query and a header, encoded', async () => {
    const asked = await askedBy('item', { id: 'a b&c', fields: 'x#y', trace: INPUT, more: [1] });
    expect([asked.method, asked.path]).toEqual(['GET', '/item/a%20b%26c?fields=x%23y&v=2&more=%5B1%5D']);
    expect(asked.headers).toMatchObject({ 'x-trace': `t-${INPUT}`, 'x-key': TOKEN });
    expect(asked.headers).not.toHaveProperty('content-length');
    expect(asked.headers).not.toHaveProperty('transfer-encoding');
    expect(asked.body.length).toBe(0);
  });

  it.each<
    [name: string, input: object, method: string, path: string, type: string | undefined, body: string]
  >([
    ['drop', { id: 5 }, 'DELETE', '/item/5', undefined, ''],
    ['form', { a: 'x&y', b: 1 }, 'POST', '/form', 'application/x-www-form-urlencoded', 'a=x%26y&b=1'],
    ['form', {}, 'POST', '/form', 'application/x-www-form-urlencoded', ''],
    ['put', { id: 'a', b: 'é' }, 'PUT', '/item/a/', 'application/json', '{"b":"é"}'],
    [
      'patch',
      { op: 'add', value: { a: [1] } },
      'PATCH',
      '/',
      'application/json',
      '{"patch":{"op":"add","value":{"a":[1]}}}',
    ],
    ['drop-with', { id: 5 }, 'DELETE', '/item', 'application/json', '{"id":5}'],
    ['empty', { a: 1 }, 'POST', '/?a=1', undefined, ''],
    [
      'put',
      { id: 'big', b: 'x'.repeat(300_000) },
      'PUT',
      '/item/big/',
      'application/json',
      `{"b":"${'x'.repeat(300_000)}"}`,
    ],
  ])('%s', async (name, input, method, path, type, body) => {
    const asked = await askedBy(name, input);
    expect([asked.method, asked.path, asked.headers['content-type']]).toEqual([method, path, type]);
    expect(asked.body.toString()).toBe(body);
    expect(asked.headers).not.toHaveProperty('transfer-encoding');
    if (method !== 'DELETE') expect(asked.headers['content-length']).toBe(String(asked.body.length));
  });

  it('is told who calls, whatever the caller says of itself', async () => {
    const asked = await askedBy(
      'drop',
      { id: 1 },
      {
        'Sallyport-Session-Id': 'ses_other',
        'X-Key': 'other',
        'User-Agent': 'caller/1',
        Cookie: 'a=b',
      },
    );
    expect(asked.headers).toMatchObject({
      'sallyport-session-id': run.session,
      'sallyport-turn-id': run.turn,
      'sallyport-agent-id': 'tester',
      'x-key': TOKEN,
      'user-agent': expect.stringMatching(/^sallyport\//),
    });
    expect(asked.rawHeaders.join(' ')).not.toMatch(/ses_other|caller|a=b/);
    expect(asked.rawHeaders.join(' ')).not.toContain(run.token);
  });

  it('has the key of a keyed call, and of no other', async () => {
    const key = `key-${run.turn}`;
    const asked = await askedBy('drop', { id: 1 }, { 'Idempotency-Key': key });
    expect(asked.headers['idempotency-key']).toBe(key);
    tool.asked.length = 0;
    expect((await askedBy('drop', { id: 1 })).headers).not.toHaveProperty('idempotency-key');
  });

  it('is in the trace of its caller, or in a new one', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${trace}-b7ad6b7169203331-01`;
    expect((await askedBy('drop', { id: 1 }, { traceparent })).headers['traceparent']).toBe(traceparent);
    expect(gates.world.logged()).toContain(`"trace":"${trace}"`);
    const made = new Set<unknown>();
    for (const odd of ['', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, 'x', `${traceparent}, a`]) {
      tool.asked.length = 0;
      made.add((await askedBy('drop', { id: 1 }, odd ? { traceparent: odd } : {})).headers['traceparent']);
    }
    expect(made.size).toBe(4);
    for (const each of made) expect(each).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it('has the manifest’s headers for ours, and the vault’s for the manifest’s', async () => {
    const { rawHeaders, headers } = await askedBy('media', {});
    expect(headers).toMatchObject({ accept: 'text/csv', 'user-agent': 'mine/1', 'x-key': TOKEN });
    const names = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    expect(names).not.toContain('x_key');
    expect(new Set(names).size).toBe(names.length);
  });

  it.each<[name: string, input: object]>([
    ['a step above', { id: '..' }],
    ['a slash', { id: '../../admin' }],
    ['a line end', { id: 'x HTTP/1.1\r\nX-Evil: 1' }],
    ['a line end in a header', { id: 'a', trace: 'a\r\nX-Evil: 1' }],
    ['no field for the path', {}],
  ])('is nothing, where the input is more than data: %s', async (_, input) => {
    const reply = await call('item', input);
    expect(JSON.parse(reply.text)).toMatchObject({ ok: false, error: { code: 'tool.invalid-input' } });
    expect(reply.text).not.toMatch(/Evil|admin/);
    expect(tool.asked).toEqual([]);
  });
});

describe('what the caller gets', () => {
  it('has every digit of a number', async () => {
    const body = '{"id":12345678901234567890,"x":0.10000000000000000555,"e":1e400,"n":-1.50,"s":"1e400"}';
    tool.behave = answering(body);
    expect((await call('drop', { id: 1 })).text).toBe(
      '{"ok":true,"output":{"id":12345678901234567890,"x":0.10000000000000000555,"e":1e400,"n":-1.50,"s":"1e400"}}',
    );
  });

  it.each<[type: string, body: string, output: unknown]>([
    ['application/vnd.api+json; charset=utf-8', '[1]', [1]],
    ['text/html', '<b>', '<b>'],
    ['application/xml', '<a/>', '<a/>'],
    ['application/atom+xml;charset=UTF-8', '<a/>', '<a/>'],
    ['TEXT/PLAIN', 'é', 'é'],
  ])('is JSON or text: %s', async (type, body, output) => {
    tool.behave = answering(body, type);
    expect(JSON.parse((await call('drop', { id: 1 })).text)).toEqual({ ok: true, output });
  });

  it.each<[encoding: string, body: Buffer, output: unknown]>([
    ['gzip', gzipSync('{"a":1}'), { a: 1 }],
    ['x-gzip', gzipSync('{"a":1}'), { a: 1 }],
    ['deflate', deflateSync('{"a":1}'), { a: 1 }],
    ['deflate', deflateRawSync('{"a":1}'), { a: 1 }],
    ['br', brotliCompressSync('{"a":1}'), { a: 1 }],
    ['zstd', zstdCompressSync('{"a":1}'), { a: 1 }],
    ['identity', Buffer.from('{"a":1}'), { a: 1 }],
    ['gzip', gzipSync(`"${TOKEN}"`), '*'.repeat(TOKEN.length)],
    ['gzip', Buffer.alloc(0), null],
  ])('is read though it was compressed unasked: %s', async (encoding, body, output) => {
    tool.behave = encoded(encoding, body);
    expect(JSON.parse((await call('drop', { id: 1 })).text)).toEqual({ ok: true, output });
    expect(tool.asked[0]?.headers['accept-encoding']).toBe('identity');
  });

  it.each<[name: string, encoding: string, body: Buffer, code: string]>([
    ['a bomb in gzip', 'gzip', gzipSync(Buffer.alloc(64 << 20)), 'http.too-large'],
    ['a bomb in deflate', 'deflate', deflateRawSync(Buffer.alloc(64 << 20)), 'http.too-large'],
    ['a bomb in br', 'br', brotliCompressSync(Buffer.alloc(8 << 20)), 'http.too-large'],
    ['a bomb in zstd', 'zstd', zstdCompressSync(Buffer.alloc(64 << 20)), 'http.too-large'],
    ['what was cut', 'gzip', gzipSync('{"a":1}').subarray(0, -4), 'http.invalid-response'],
    ['what is plain', 'br', Buffer.from('{"a":1}'), 'http.invalid-response'],
    ['another coding', 'compress', Buffer.from('x'), 'http.invalid-response'],
    ['two codings', 'gzip, br', Buffer.from('x'), 'http.invalid-response'],
  ])('is not %s', async (_, encoding, body, code) => {
    tool.behave = encoded(encoding, body);
    expect(JSON.parse((await call('drop', { id: 1 })).text)).toMatchObject({ ok: false, error: { code } });
  });

  it.each<[name: string, body: string, code: string | null]>([
    ['fits', '{"n":1}', null],
    ['fits', '{"m":1}', 'tool.invalid-output'],
    ['fits', '[]', 'tool.invalid-output'],
    ['unfit', '{}', 'tool.invalid-output'],
  ])('fits the output schema, or is not given on: %s %s', async (name, body, code) => {
    tool.behave = answering(body);
    const { ok, error } = JSON.parse((await call(name)).text);
    expect([ok, error?.code ?? null]).toEqual([code === null, code]);
    expect(tool.asked.length).toBe(1);
  });

  it('is logged as how it ended and how large it was, with the credential’s id', async () => {
    tool.behave = answering(`"${INPUT}"`);
    const { text } = await call('form', { a: INPUT });
    const line = gates.world
      .logged()
      .split('\n')
      .filter((each) => each.includes('"tool call"'))
      .map((each) => JSON.parse(each))
      .findLast((each) => each.tool === 'form');
    expect(line).toMatchObject({
      session: run.session,
      turn: run.turn,
      agent: 'tester',
      outcome: 'completed',
      credential: expect.stringMatching(/^crd_/),
      inputBytes: JSON.stringify({ input: { a: INPUT } }).length,
      resultBytes: text.length,
      ms: expect.any(Number),
    });
  });
});
