/** The base URL of a run, between real sockets: a client of the run, and gates that are scripted by the test. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../pod/relay.ts';
import { connectTo, type Peer } from '../support/client.ts';

const SECRET = 'the-secret-of-the-run';
const TOKEN = 'the.run.token';

let gates: Server;
let gatesPort: number;
let relay: Relay;
let behave: RequestListener;
const asked: IncomingMessage[] = [];
const open: Peer[] = [];

beforeAll(async () => {
  gates = createServer((request, response) => {
    asked.push(request);
    behave(request, response);
  });
  await new Promise<void>((resolve) => gates.listen(0, '127.0.0.1', resolve));
  const address = gates.address();
  gatesPort = typeof address === 'object' && address !== null ? address.port : 0;
  relay = await start(gatesPort);
});
beforeEach(() => {
  asked.length = 0;
  behave = (request, response) => {
    request.resume().once('end', () => response.end('{}'));
  };
});
afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});
afterAll(async () => {
  await relay.close();
  gates.closeAllConnections();
  gates.close();
});

const start = (port: number): Promise<Relay> =>
  startRelay({
    secret: SECRET,
    egress: { host: '127.0.0.1', port: 1 },
    gates: { host: '127.0.0.1', port },
    egressToken: () => 'egress',
    runToken: () => TOKEN,
  });

async function send(text: string, port = relay.modelPort): Promise<Peer> {
  const peer = await connectTo(port);
  open.push(peer);
  return peer.send(text.replaceAll('HOST', `127.0.0.1:${port}`));
}

const get = (headers: string): string => `GET /v1/models HTTP/1.1\r\n${headers}\r\n`;
const KEY = `Authorization: Bearer ${SECRET}\r\n`;

describe('a call with the secret', () => {
  it('goes to the gates as it came, with the run token in place of the secret', async () => {
    const body = '{"model":\t"x"}';
    const client = await send(
      `POST /v1/chat/completions?a=%20b HTTP/1.1\r\nHost: HOST\r\nX-Odd: 1\r\nx-odd: 2\r\n${KEY}Connection: keep-alive\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let came = '';
    behave = (request, response) => {
      request.on('data', (chunk: Buffer) => {
        came += String(chunk);
      });
      request.once('end', () => {
        response.sendDate = false;
        response.writeHead(299, 'Very  Fine', ['X-A', '1', 'x-a', '2', 'Content-Length', '2']);
        response.end('ok');
      });
    };
    const answer = await client.answer();
    expect(asked[0]?.url).toBe('/v1/chat/completions?a=%20b');
    expect(came).toBe(body);
    expect(asked[0]?.rawHeaders).toEqual([
      ...['X-Odd', '1', 'x-odd', '2', 'Content-Length', String(body.length)],
      ...['Host', `127.0.0.1:${gatesPort}`, 'Authorization', `Bearer ${TOKEN}`, 'Connection', 'close'],
    ]);
    expect(answer.text).toMatch(/^HTTP\/1\.1 299 Very {2}Fine\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n/);
    expect(answer.body).toBe('ok');
    expect(answer.text).not.toContain(TOKEN);
  });

  it.each([
    ['?key=SECRET', ''],
    ['?alt=sse&key=SECRET&x=%20', '?alt=sse&x=%20'],
    ['?key=SECRET&key=other&apikey=SECRET', '?key=other&apikey=SECRET'],
  ])('in the query: %s', async (query, left) => {
    const target = (text: string) => `/v1beta/models/m:generateContent${text.replaceAll('SECRET', SECRET)}`;
    await (await send(`POST ${target(query)} HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n`)).answer();
    expect([asked[0]?.url, asked[0]?.headers['x-goog-api-key']]).toEqual([target(left), TOKEN]);
  });

  it('with headers of any bytes, both ways', async () => {
    behave = (request, response) => {
      request.resume();
      response.writeHead(200, { 'x-high': '\xfe\xe9', 'content-length': 2 }).end(Buffer.from('ok'));
    };
    const client = await connectTo(relay.modelPort);
    open.push(client);
    const head = get(`Host: 127.0.0.1:${relay.modelPort}\r\n${KEY}X-High: \xe9\xff\r\n`);
    const { headers } = await client.send(Buffer.from(head, 'latin1')).answer();
    expect([asked[0]?.headers['x-high'], headers.get('x-high')]).toEqual(['\xe9\xff', '\xfe\xe9']);
  });

  it.each([
    ['Authorization', KEY, 'authorization', `Bearer ${TOKEN}`],
    ['x-api-key', `X-API-Key: ${SECRET}\r\n`, 'x-api-key', TOKEN],
    ['x-goog-api-key', `x-goog-api-key: ${SECRET}\r\n`, 'x-goog-api-key', TOKEN],
    [
      'a key beside another credential',
      `Authorization: Bearer x\r\nx-api-key: ${SECRET}\r\n`,
      'x-api-key',
      TOKEN,
    ],
  ])('in %s', async (_name, headers, name, value) => {
    await (await send(get(`Host: HOST\r\n${headers}`))).answer();
    const { authorization, ...others } = asked[0]?.headers ?? {};
    const found = {
      authorization,
      'x-api-key': others['x-api-key'],
      'x-goog-api-key': others['x-goog-api-key'],
    };
    const [only, ...more] = Object.entries(found).filter(([, held]) => held !== undefined);
    expect([only, more]).toEqual([[name, value], []]);
  });

  it('follows another on the same connection, by the name localhost too', async () => {
    const client = await send(get(`Host: HOST\r\n${KEY}`));
    expect((await client.answer()).status).toBe(200);
    client.send(get(`Host: localhost:${relay.modelPort}\r\n${KEY}`));
    expect((await client.answer()).status).toBe(200);
  });

  it('of Node’s own fetch passes, which says its mode as a browser does', async () => {
    const client = await send(get(`Host: HOST\r\nSec-Fetch-Mode: cors\r\n${KEY}`));
    expect((await client.answer()).status).toBe(200);
  });

  it('streams both ways as the bytes come', async () => {
    behave = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      request.on('data', (chunk: Buffer) => response.write(`data: ${chunk}\n\n`));
      request.once('end', () => response.end());
    };
    const client = await send(
      `POST /v1/x HTTP/1.1\r\nHost: HOST\r\n${KEY}Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n`,
    );
    await client.answer();
    expect(await client.text(16)).toBe('b\r\ndata: one\n\n\r\n');
    client.send('3\r\ntwo\r\n0\r\n\r\n');
    expect(await client.text(21)).toBe('b\r\ndata: two\n\n\r\n0\r\n\r\n');
  });

  it('gets an answer that came before its end was sent', async () => {
    behave = (_request, response) => {
      response.writeHead(413, { connection: 'close', 'content-length': 5 });
      response.end('large');
    };
    const client = await send(`POST /v1/x HTTP/1.1\r\nHost: HOST\r\n${KEY}Content-Length: 9000000\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([413, 'large']);
  });

  it('that is given up is given up at the gates', async () => {
    const gone = new Promise((resolve) => {
      behave = (_request, response) => {
        response.write('data: 1\n\n');
        response.once('close', resolve);
      };
    });
    const client = await send(get(`Host: HOST\r\n${KEY}`));
    await client.answer();
    client.reset();
    await gone;
  });

  it('whose answer breaks off breaks off', async () => {
    behave = (_request, response) => {
      response.write('half');
      setImmediate(() => response.destroy());
    };
    const client = await send(get(`Host: HOST\r\n${KEY}`));
    await client.answer();
    await client.ending();
    expect(client.received.toString()).not.toContain('0\r\n\r\n');
  });

  it('keeps an upgrade, so that the gates refuse it in their own words', async () => {
    behave = (_request, response) => {
      response.writeHead(426, { upgrade: 'HTTP/1.1', connection: 'close', 'content-length': 0 });
      response.end();
    };
    const client = await send(get(`Host: HOST\r\n${KEY}Connection: Upgrade\r\nUpgrade: websocket\r\n`));
    expect((await client.answer()).status).toBe(426);
    expect(asked[0]?.headers).toMatchObject({ upgrade: 'websocket', connection: 'Upgrade' });
  });

  it('is a 502 where the gates are not there', async () => {
    const lonely = await start(1);
    const client = await send(get(`Host: HOST\r\n${KEY}`), lonely.modelPort);
    const answer = await client.answer();
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([502, 'gates_unreachable']);
    await lonely.close();
  });
});

describe('what is refused', () => {
  it.each([
    ['no secret', 'Host: HOST\r\n', 401, 'secret_wrong'],
    ['another secret', 'Host: HOST\r\nAuthorization: Bearer x\r\n', 401, 'secret_wrong'],
    ['the run token itself', `Host: HOST\r\nx-api-key: ${TOKEN}\r\n`, 401, 'secret_wrong'],
    ['the secret twice', `Host: HOST\r\n${KEY}${KEY}`, 401, 'secret_wrong'],
    ['another host', `Host: evil.test\r\n${KEY}`, 421, 'host_unknown'],
    ['a host that begins like ours', `Host: HOST.evil.test\r\n${KEY}`, 421, 'host_unknown'],
    ['another port', `Host: 127.0.0.1:1\r\n${KEY}`, 421, 'host_unknown'],
    ['no port', `Host: localhost\r\n${KEY}`, 421, 'host_unknown'],
    ['two hosts', `Host: HOST\r\nHost: HOST\r\n${KEY}`, 421, 'host_unknown'],
    ['a page', `Host: HOST\r\nOrigin: null\r\n${KEY}`, 403, 'browser_refused'],
    ['a page of ours', `Host: HOST\r\nORIGIN: http://HOST\r\n${KEY}`, 403, 'browser_refused'],
    ['a navigation', `Host: HOST\r\nSec-Fetch-Site: none\r\n${KEY}`, 403, 'browser_refused'],
    ['an image', `Host: HOST\r\nSec-Fetch-Dest: image\r\n${KEY}`, 403, 'browser_refused'],
  ])('%s', async (_name, headers, status, code) => {
    const answer = await (await send(get(headers))).answer();
    const { error } = JSON.parse(answer.body);
    expect([answer.status, error.code, answer.headers.get('x-should-retry')]).toEqual([
      status,
      code,
      'false',
    ]);
    expect(answer.headers.get('sallyport-reason')).toBe(code);
    expect(answer.text).not.toContain(TOKEN);
    expect(asked).toEqual([]);
  });

  const message = expect.stringContaining('asks for the secret of the run; use OPENAI_API_KEY');
  const code = 'secret_wrong';
  const openai = { error: { message, type: 'invalid_request_error', param: null, code } };
  const anthropic = { type: 'error', error: { type: 'authentication_error', message, code } };
  const details = [expect.objectContaining({ reason: code, domain: 'sallyport' })];
  const gemini = { error: { code: 401, message, status: 'UNAUTHENTICATED', details } };
  it.each([
    ['/v1/chat/completions', openai],
    ['/chat/completions', openai],
    ['/v1/responses?a=1', openai],
    ['/v1/embeddings', openai],
    ['/v1/models/x', openai],
    ['/v1/messages', anthropic],
    ['/messages/count_tokens', anthropic],
    ['/v1beta/models/m:generateContent', gemini],
    ['/v1alpha/models/m:streamGenerateContent?alt=sse', gemini],
    ['/v1/messagesx', { type: 'error', error: { type: 'authentication_error', message, param: null, code } }],
  ])('in the shape of whoever asks %s', async (path, shape) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n`;
    const answer = await (await send(head)).answer();
    expect(JSON.parse(answer.body)).toEqual(shape);
    expect(answer.headers.get('sallyport-reason')).toBe(code);
  });

  it('says where it says that the gates are not there', async () => {
    const lonely = await start(1);
    const head = `POST /v1beta/models/m:generateContent HTTP/1.1\r\nHost: HOST\r\n${KEY}Content-Length: 0\r\n\r\n`;
    const answer = await (await send(head, lonely.modelPort)).answer();
    expect(JSON.parse(answer.body).error).toMatchObject({ code: 502, status: 'INTERNAL' });
    expect(answer.headers.get('sallyport-reason')).toBe('gates_unreachable');
    expect(answer.headers.get('x-should-retry')).toBeUndefined();
    await lonely.close();
  });
});
