/** What servers do that they should not, and what is made of it: a word of the closed list, and whether the call may have run. */

import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../../../gates/mcp/messages.ts';
import type { UpstreamServers } from '../../../../gates/mcp/upstream/servers.ts';
import {
  callTool,
  declare,
  type McpRig,
  openServer,
  startMcpRig,
  tryServer,
} from '../../../support/mcp-rig.ts';
import { type Asked, type Provider, startProvider } from '../../../support/provider.ts';

const SECRET = 'mcp-canary-8f0d11';
let rig: McpRig;
let servers: UpstreamServers;
let target: Provider;
let url: string;

beforeAll(async () => {
  rig = await startMcpRig(['hostile.test']);
  servers = await rig.replica();
  target = await startProvider('hostile.test', { plain: true });
  url = `http://hostile.test:${target.port}/mcp?a=1`;
});
afterAll(async () => {
  await target?.close();
  await rig?.close();
});
afterEach(() => {
  target.asked.length = 0;
});

type Act = (response: ServerResponse, id: string, asked: Asked) => void;

/** A modern server that does this when a tool is called. */
function behave(act: Act): void {
  target.behave = (asked, response) => {
    const said = asked.body.length > 0 ? JSON.parse(asked.body.toString()) : {};
    if (said.method === 'server/discover') json(response, result(said.id, DISCOVERED));
    else act(response, said.id, asked);
  };
}

const DISCOVERED = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const result = (id: unknown, value: object = { resultType: 'complete', content: [] }): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: value });
function json(response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(body);
}
function events(response: ServerResponse, text: string): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
  return response;
}
const status =
  (code: number, body = '', headers = {}): Act =>
  (response) => {
    response.writeHead(code, headers);
    response.end(body);
  };

const BOMB = gzipSync(Buffer.alloc(40_000_000, ' '));
const ROWS: readonly (readonly [string, Act, object])[] = [
  ['a redirect', status(307, '', { location: '/elsewhere' }), { failure: 'redirected', mayHaveRun: false }],
  ['a 401', status(401, SECRET), { failure: 'credential_rejected', mayHaveRun: false, detail: 'test/tool' }],
  ['a 403', status(403), { failure: 'status', mayHaveRun: false, detail: 'status 403' }],
  ['a 503', status(503), { failure: 'status', mayHaveRun: true, detail: 'status 503' }],
  [
    'a page',
    status(200, '<html>', { 'content-type': 'text/html' }),
    { failure: 'malformed', mayHaveRun: true },
  ],
  ['a 202', status(202), { failure: 'malformed', mayHaveRun: true }],
  ['a 204', status(204), { failure: 'malformed', mayHaveRun: true }],
  ['JSON that is none', (response) => json(response, '{"jsonrpc":'), { failure: 'malformed' }],
  ['another’s answer', (response) => json(response, result('other')), { failure: 'malformed' }],
  ['a number for a text', (response) => json(response, result(1)), { failure: 'malformed' }],
  [
    'another’s answer in a stream',
    (response) => void events(response, `data: ${result('other')}\n\n`),
    { failure: 'malformed' },
  ],
  [
    'events that are none',
    (response) => void events(response, 'data: {oh\n\n').end(),
    { failure: 'malformed' },
  ],
  [
    'a stream without an answer',
    (response) => void events(response, ': hello\n\n').end(),
    { failure: 'lost', mayHaveRun: true },
  ],
  [
    'a stream that breaks off',
    (response) => {
      events(response, ': hello\n\n');
      setImmediate(() => response.destroy());
    },
    { failure: 'lost', mayHaveRun: true },
  ],
  ['a reset before a byte', (response) => void response.destroy(), { failure: 'lost', mayHaveRun: true }],
  [
    'a body that breaks off',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99' });
      response.write('{');
      setImmediate(() => response.destroy());
    },
    { failure: 'lost', mayHaveRun: true },
  ],
  [
    'a line without an end',
    (response) => void endless(events(response, 'data: '), 'x'.repeat(65_536)),
    { failure: 'too_large', mayHaveRun: true },
  ],
  [
    'an event of many lines',
    (response) => void endless(events(response, ''), `data: ${'x'.repeat(65_536)}\r\n`),
    { failure: 'too_large' },
  ],
  [
    'a body without an end',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      endless(response, ' '.repeat(65_536));
    },
    { failure: 'too_large' },
  ],
  [
    'a small bomb',
    (response) => json(response, BOMB, { 'content-encoding': 'gzip' }),
    { failure: 'too_large' },
  ],
  [
    'an unknown coding',
    (response, id) => json(response, result(id), { 'content-encoding': 'compress' }),
    { failure: 'malformed' },
  ],
  [
    'a coding that is a lie',
    (response, id) => json(response, result(id), { 'content-encoding': 'gzip' }),
    { failure: 'malformed' },
  ],
  [
    'endless depth',
    (response, id) =>
      json(response, `{"jsonrpc":"2.0","id":"${id}","result":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`),
    { failure: 'malformed' },
  ],
  [
    'events without an end',
    (response) => void endless(events(response, ''), 'data: {"jsonrpc":"2.0","method":"x"}\n\n'),
    { failure: 'timeout', mayHaveRun: true },
  ],
  ['silence', () => {}, { failure: 'timeout', mayHaveRun: true }],
];

/** As fast as it is read. */
function endless(response: ServerResponse, piece: string): void {
  const write = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', write);
  };
  write();
}

const called = (): number => target.asked.filter(({ body }) => body.includes('tools/call')).length;

describe('a server that answers with', () => {
  it.each(ROWS)('%s', async (_name, act, expected) => {
    behave(act);
    const server = await openServer(servers, await rig.session(), declare(url, { timeoutMs: 1_500 }), {
      token: SECRET,
    });
    const answer = await callTool(server, 'any');
    expect(answer).toMatchObject(expected);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect(called()).toBe(1);
    expect(target.asked.every(({ path }) => path === '/mcp?a=1')).toBe(true);
  });
});

describe('a server that answers well', () => {
  const answers: readonly (readonly [string, Act])[] = [
    ['in gzip', (response, id) => json(response, gzipSync(result(id)), { 'content-encoding': 'gzip' })],
    ['in br', (response, id) => json(response, brotliCompressSync(result(id)), { 'content-encoding': 'br' })],
    [
      'in a stream in gzip',
      (response, id) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        response.end(gzipSync(`: hi\n\ndata: ${result(id)}\n\n`));
      },
    ],
    [
      'in lines with CR LF',
      (response, id) => void events(response, `: hi\r\n\r\ndata: ${result(id)}\r\n\r\n`).end(),
    ],
    ['and leaves the stream open', (response, id) => void events(response, `data: ${result(id)}\n\n`)],
    [
      'beside what nobody can read',
      (response, id) => void events(response, `data: {oh\n\ndata: ${result(id)}\n\n`),
    ],
  ];
  it.each(answers)('%s', async (_name, act) => {
    behave(act);
    const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
    expect(await callTool(server, 'any')).toEqual({ result: { resultType: 'complete', content: [] } });
  });
  it('in a stream that is taken up where it broke off', async () => {
    let id = '';
    behave((response, asked, { method, headers }) => {
      if (method === 'POST') {
        id = asked;
        events(response, 'id: 7\nretry: 60\ndata:\n\n').end();
      } else if (headers['last-event-id'] === '7') events(response, `id: 8\ndata: ${result(id)}\n\n`).end();
    });
    const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
    expect(await callTool(server, 'any')).toHaveProperty('result');
    expect(target.asked.map(({ method }) => method).slice(-2)).toEqual(['POST', 'GET']);
    expect(called()).toBe(1);
  });
  it('and is not called again where taking up its stream fails', async () => {
    behave((response, _id, { method }) => {
      if (method === 'POST') events(response, 'id: 7\nretry: 1\ndata:\n\n').end();
      else response.writeHead(401).end();
    });
    const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
    expect(await callTool(server, 'any')).toMatchObject({ failure: 'credential_rejected', mayHaveRun: true });
  });
  it('with our own secret, which is masked', async () => {
    behave((response, id) => void events(response, `data: ${result(id, { said: `Bearer ${SECRET}` })}\n\n`));
    const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
    expect(await callTool(server, 'any')).toEqual({
      result: { said: `Bearer ${'*'.repeat(SECRET.length)}` },
    });
  });
  it('with an error of its own, whatever its status', async () => {
    for (const code of [200, 400, 404, 500]) {
      behave((response, id) => {
        response.writeHead(code, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_602, message: 'no', data: { a: 1 } } }),
        );
      });
      const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
      expect(await callTool(server, 'any')).toEqual({
        error: { code: -32_602, message: 'no', data: { a: 1 } },
      });
    }
  });
  it('and asks its caller for more than anybody answers', async () => {
    let [open, left] = [0, 0];
    behave((response, id, { body }) => {
      if (!body.includes('tools/call')) {
        response.writeHead(202).end();
        return;
      }
      const asks = Array.from(
        { length: 40 },
        (_, n) => `data: {"jsonrpc":"2.0","id":${n},"method":"roots/list"}\n\n`,
      );
      const stream = events(response, asks.join(''));
      const answered = (): number =>
        target.asked.filter(({ body: said }) => said.includes('too many')).length;
      const wait = (): void => {
        if (answered() < 8) setImmediate(wait);
        else stream.end(`data: ${result(id)}\n\n`);
      };
      wait();
    });
    const server = await openServer(servers, await rig.session(), declare(url), { token: SECRET });
    const onRequest = (_asked: object, signal?: AbortSignal): Promise<Answer> => {
      open += 1;
      return new Promise((resolve) => {
        signal?.addEventListener(
          'abort',
          () => {
            left += 1;
            resolve({ result: {} });
          },
          { once: true },
        );
      });
    };
    expect(await callTool(server, 'any', {}, { onRequest })).toHaveProperty('result');
    expect(open).toBe(32);
    expect(left).toBe(32);
  });
});

describe('a server that is not met', () => {
  const first: readonly (readonly [number, string])[] = [
    [401, 'credential_rejected'],
    [403, 'status'],
    [429, 'status'],
    [500, 'status'],
    [502, 'status'],
    [302, 'redirected'],
  ];
  it.each(first)('because it answers %s, which tells no era', async (code, failure) => {
    target.behave = (_asked, response) => void response.writeHead(code, { location: '/' }).end();
    expect(
      await tryServer(servers, await rig.session(), declare(url), { token: `${SECRET}-${code}` }),
    ).toMatchObject({ failure, mayHaveRun: false });
    expect(target.asked).toHaveLength(1);
  });
  it('because nobody listens, and then is not asked for a moment', async () => {
    const gone = await startProvider('hostile.test', { plain: true });
    await gone.close();
    const place = declare(`http://hostile.test:${gone.port}/mcp`);
    const session = await rig.session();
    expect(await tryServer(servers, session, place)).toMatchObject({
      failure: 'unreachable',
      mayHaveRun: false,
    });
    expect(await tryServer(servers, session, place)).toMatchObject({ failure: 'backoff', mayHaveRun: false });
  });
  it('because it went while it was known, until it is there again', async () => {
    const going = await startProvider('hostile.test', { plain: true });
    behave((response, id) => json(response, result(id)));
    going.behave = target.behave;
    const server = await openServer(
      servers,
      await rig.session(),
      declare(`http://hostile.test:${going.port}/mcp`),
    );
    await going.close();
    // A connection that is kept may break off under the first.
    await expect.poll(() => callTool(server, 'any')).toMatchObject({ failure: 'backoff', mayHaveRun: false });
    rig.at = new Date(Date.now() + 60_000);
    expect(await callTool(server, 'any')).toMatchObject({ failure: 'unreachable' });
    rig.at = null;
    expect(server.era).toBe('modern');
  });
  it('because its address is not one that is called', async () => {
    expect(await tryServer(servers, await rig.session(), declare('http://localhost:1/mcp'))).toMatchObject({
      failure: 'refused',
    });
    expect(await tryServer(servers, await rig.session(), declare('https://nowhere.test/mcp'))).toMatchObject({
      failure: 'unreachable',
    });
  });
});
