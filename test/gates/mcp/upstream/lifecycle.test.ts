/** How connections change under a session: with time, with credentials, with servers that become others. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FindReach } from '../../../../gates/mcp/upstream/server.ts';
import type { UpstreamServers } from '../../../../gates/mcp/upstream/servers.ts';
import {
  askServer,
  callTool,
  declare,
  type McpRig,
  openServer,
  reaching,
  startMcpRig,
  tryServer,
} from '../../../support/mcp-rig.ts';
import { type McpTestServer, startMcpServer } from '../../../support/mcp-servers.ts';
import { type Provider, startProvider } from '../../../support/provider.ts';

let rig: McpRig;
let servers: UpstreamServers;
let scripted: Provider;
let url: string;

beforeAll(async () => {
  rig = await startMcpRig(['stateful.test', 'modern.test', 'scripted.test']);
  servers = await rig.replica();
  scripted = await startProvider('scripted.test', { plain: true });
  url = `http://scripted.test:${scripted.port}/mcp`;
});
afterAll(async () => {
  await scripted?.close();
  await rig?.close();
});
afterEach(() => {
  rig.at = null;
  scripted.asked.length = 0;
});

/** A server by the methods of its requests; what is not there is answered with a 400. */
function answer(
  by: Readonly<Record<string, (response: ServerResponse, id: unknown, sessionId: string) => void>>,
): void {
  scripted.behave = ({ method, headers, body }, response) => {
    const said = body.length > 0 ? JSON.parse(body.toString()) : { method };
    const act = by[said.method];
    if (act) act(response, said.id, String(headers['mcp-session-id'] ?? ''));
    else response.writeHead(said.method === 'GET' ? 405 : 400).end();
  };
}

const give =
  (result: object, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse, id: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
const take = (response: ServerResponse): void => void response.writeHead(202).end();
const GREETED = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old' } };
const DISCOVERED = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} };
const legacy = {
  initialize: give(GREETED),
  'notifications/initialized': take,
  'tools/call': give({ content: [] }),
};
const methods = (): unknown[] =>
  scripted.asked.map(({ body }) => (body.length > 0 ? JSON.parse(body.toString()).method : 'GET'));

describe('a connection that nobody uses', () => {
  let target: McpTestServer;
  beforeAll(async () => {
    target = await startMcpServer('stateful.test', 'stateful');
  });
  afterAll(() => target?.close());

  it('is let go, and its session is taken up again', async () => {
    const few = await rig.replica(1_500);
    const session = await rig.session();
    const server = await openServer(few, session, declare(target.url));
    await callTool(server, 'echo');
    expect(few.size).toBe(1);
    await expect.poll(() => few.size, { timeout: 5_000 }).toBe(0);
    await callTool(await openServer(few, session, declare(target.url)), 'echo');
    expect(target.asked.filter(({ body }) => body.includes('"initialize"'))).toHaveLength(1);
    expect(target.done).not.toContain('deleted');
  });
  it('is not let go while somebody listens', async () => {
    const few = await rig.replica(1_500);
    const server = await openServer(few, await rig.session(), declare(target.url));
    const subscription = server.subscribe({ toolsListChanged: true }, () => {});
    rig.at = new Date(Date.now() + 3_600_000);
    // What nobody listens to is let go meanwhile.
    await openServer(few, await rig.session(), declare(target.url));
    rig.at = new Date(Date.now() + 7_200_000);
    await expect.poll(() => few.size).toBe(1);
    subscription.close();
    await expect.poll(() => few.size).toBe(0);
  });
  it('is ended when it is asked to', async () => {
    const session = await rig.session();
    const place = { sessionId: session, server: 'one' };
    await openServer(servers, session, declare(target.url));
    target.done.length = 0;
    await servers.end({ place, server: declare(target.url), find: reaching(target.url) });
    expect(target.done).toEqual(['deleted']);
    // Also by a process that did not hold it.
    await openServer(servers, session, declare(target.url));
    const other = await rig.replica();
    await other.end({ place, server: declare(target.url), find: reaching(target.url) });
    expect(target.done).toEqual(['deleted', 'deleted']);
  });
});

describe('a credential that changes', () => {
  it('is used from the next request on, and streams do not stay open with the old one', async () => {
    const target = await startMcpServer('stateful.test', 'stateful');
    let token = 'first';
    const find: FindReach = () => reaching(target.url, token)();
    const server = await openServer(servers, await rig.session(), declare(target.url), { find });
    const streams = (): (string | undefined)[] =>
      target.asked.filter(({ method }) => method === 'GET').map(({ headers }) => headers.authorization);
    await expect.poll(streams).toEqual(['Bearer first']);
    token = 'second';
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    expect(target.asked.at(-1)?.headers.authorization).toBe('Bearer second');
    await rig.world.call('PUT', '/v1/vaults/any');
    await rig.world.call('PUT', `/v1/vaults/any/credentials/c${randomUUID().slice(0, 8)}`, {
      kind: 'bearer',
      hosts: ['any.test'],
      secret: { value: 'long-enough' },
    });
    await expect.poll(streams).toContain('Bearer second');
    await target.close();
  });
  it('is told from one that is gone, and from two that set one header', async () => {
    const gone = { failure: 'credential', mayHaveRun: false, detail: 'test/tool' } as const;
    const find: FindReach = () => Promise.resolve(gone);
    expect(await tryServer(servers, await rig.session(), declare(url), { find })).toMatchObject(gone);
    const twice: FindReach = async () => {
      const reach = await reaching(url, 'one')();
      return 'failure' in reach
        ? reach
        : { ...reach, credentials: [...reach.credentials, ...reach.credentials] };
    };
    expect(await tryServer(servers, await rig.session(), declare(url), { find: twice })).toMatchObject({
      failure: 'credential',
    });
  });
});

describe('a gateway elsewhere', () => {
  it('is asked in the server’s place', async () => {
    answer(legacy);
    const via = declare('https://nowhere.test/mcp', { via: { url } });
    expect(await callTool(await openServer(servers, await rig.session(), via), 'any')).toHaveProperty(
      'result',
    );
  });
});

describe('a server that becomes another', () => {
  it('was legacy, and is modern now', async () => {
    answer(legacy);
    await openServer(servers, await rig.session(), declare(url), { token: 'token-of-up' });
    answer({
      'server/discover': give(DISCOVERED),
      'tools/call': give({ resultType: 'complete', content: [] }),
    });
    const server = await openServer(servers, await rig.session(), declare(url), { token: 'token-of-up' });
    expect(server.era).toBe('modern');
    expect(await callTool(server, 'any')).toHaveProperty('result');
  });
  it('was modern, and is legacy now, under a session', async () => {
    answer({
      'server/discover': give(DISCOVERED),
      'tools/call': give({ resultType: 'complete', content: [] }),
    });
    const server = await openServer(servers, await rig.session(), declare(url), { token: 'token-of-down' });
    await callTool(server, 'any');
    answer({
      ...legacy,
      'tools/call': (response, id, session) =>
        session === 's1' ? give({ content: [1] })(response, id) : response.writeHead(400).end(),
      initialize: give(GREETED, { 'mcp-session-id': 's1' }),
    });
    expect(await callTool(server, 'any')).toEqual({ result: { content: [1] } });
    expect(server.era).toBe('legacy');
  });
  it('forgets its session, and says so with a 400', async () => {
    const begin = (id: string) => ({
      ...legacy,
      initialize: give(GREETED, { 'mcp-session-id': id }),
      'tools/list': (response: ServerResponse, asked: unknown, session: string) =>
        session === id
          ? give({ tools: [] })(response, asked)
          : void response
              .writeHead(400)
              .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such session"}}'),
    });
    answer(begin('s1'));
    const server = await openServer(servers, await rig.session(), declare(url), {
      token: 'token-of-forgets',
    });
    expect(await askServer(server, { method: 'tools/list' })).toHaveProperty('result');
    answer(begin('s2'));
    expect(await askServer(server, { method: 'tools/list' })).toHaveProperty('result');
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });
  it('speaks no revision that is spoken here', async () => {
    answer({ initialize: give({ ...GREETED, protocolVersion: '1999-01-01' }) });
    expect(
      await tryServer(servers, await rig.session(), declare(url), { token: 'token-of-old' }),
    ).toMatchObject({
      failure: 'malformed',
    });
    answer({
      'server/discover': (response, id) => {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify({
            jsonrpc: '2.0',
            id,
            error: {
              code: -32_022,
              message: 'no',
              data: { supported: ['2030-01-01'], requested: '2026-07-28' },
            },
          }),
        );
      },
    });
    scripted.asked.length = 0;
    expect(
      await tryServer(servers, await rig.session(), declare(url), { token: 'token-of-new' }),
    ).toMatchObject({
      failure: 'malformed',
    });
    expect(methods()).toEqual(['server/discover']);
  });
});
