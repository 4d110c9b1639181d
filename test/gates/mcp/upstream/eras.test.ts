/** The same questions to servers of each era and transport, on the official SDKs: what comes back, and beside it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UpstreamServer } from '../../../../gates/mcp/upstream/server.ts';
import type { UpstreamServers } from '../../../../gates/mcp/upstream/servers.ts';
import {
  askServer,
  callTool,
  declare,
  type Heard,
  type McpRig,
  openServer,
  startMcpRig,
} from '../../../support/mcp-rig.ts';
import { type McpTestServer, startMcpServer } from '../../../support/mcp-servers.ts';

const KINDS = ['modern', 'stateful', 'stateless', 'sse'] as const;
let rig: McpRig;
let servers: UpstreamServers;

beforeAll(async () => {
  rig = await startMcpRig(KINDS.map((kind) => `${kind}.test`));
  servers = await rig.replica();
});
afterAll(() => rig?.close());

describe.each(KINDS)('a %s server', (kind) => {
  let target: McpTestServer;
  let server: UpstreamServer;
  beforeAll(async () => {
    target = await startMcpServer(`${kind}.test`, kind);
    server = await openServer(servers, await rig.session(), declare(target.url), {
      capabilities: { elicitation: {} },
      token: 'key-canary-1',
    });
  });
  afterAll(() => target?.close());

  it('is known by its era and by what it said of itself', () => {
    expect(server.era).toBe(kind === 'modern' ? 'modern' : 'legacy');
    expect(server.about.serverInfo).toMatchObject({ name: kind === 'modern' ? 'modern' : 'legacy' });
    expect(server.about.instructions).toBe(kind === 'modern' ? 'be kind' : 'be brief');
    expect(server.about.capabilities).toMatchObject({ tools: { listChanged: true } });
  });
  it('lists its tools with all that they have', async () => {
    const answer = await askServer(server, { method: 'tools/list' });
    expect(answer).toMatchObject({
      result: { tools: [{ name: 'echo', _meta: { 'example.test/kept': 'echo' } }, {}, {}, {}] },
    });
  });
  it('keeps what nobody knows, both ways, and tells the server what it is to be told', async () => {
    const rest = { traceparent: '00-1', 'example.test/own': { deep: [1] } };
    const meta = { client: { info: null, capabilities: {} }, logLevel: null, wantsProgress: false, rest };
    const answer = await askServer(server, {
      method: 'tools/call',
      params: { name: 'echo', arguments: { é: 1 } },
      meta,
    });
    expect(answer).toMatchObject({ result: { extra: { kept: true } } });
    const last = target.asked.findLast(({ body }) => body.includes('tools/call'));
    expect(JSON.parse(last?.body ?? '')).toMatchObject({
      params: { name: 'echo', arguments: { é: 1 }, _meta: rest },
    });
    expect(last?.headers).toMatchObject({
      authorization: 'Bearer key-canary-1',
      'accept-encoding': 'gzip, br',
    });
    expect(last?.headers['mcp-method']).toBe(kind === 'modern' ? 'tools/call' : undefined);
  });
  it('gives progress and logs to whoever asked', async () => {
    const heard: Heard = { progress: [], logs: [], requests: [] };
    const meta = {
      client: { info: null, capabilities: {} },
      logLevel: 'info',
      wantsProgress: true,
      rest: {},
    };
    await askServer(server, { method: 'tools/call', params: { name: 'progress' }, meta }, { heard });
    expect(heard.progress).toEqual([{ progress: 1 }]);
    // A server that keeps no session forgets the level, too.
    if (kind !== 'stateless') expect(heard.logs).toMatchObject([{ level: 'info', data: 'half way' }]);
    if (kind === 'stateful' || kind === 'sse') expect(target.done).toContain('level info');
  });
  it.skipIf(kind === 'stateless')('asks the client what it has to, in its own manner', async () => {
    const heard: Heard = { progress: [], logs: [], requests: [] };
    const answer = await callTool(server, 'ask', {}, { heard });
    if (kind === 'modern') {
      expect(answer).toMatchObject({
        result: {
          resultType: 'input_required',
          requestState: 'state-1',
          inputRequests: { q: { method: 'elicitation/create' } },
        },
      });
      return;
    }
    expect(heard.requests).toMatchObject([{ method: 'elicitation/create', params: { message: 'which?' } }]);
    expect(JSON.stringify(answer)).toContain('accept');
  });
  it.skipIf(kind === 'stateless')('is told when a call is given up', async () => {
    const leave = new AbortController();
    const begun = callTool(server, 'wait', {}, { signal: leave.signal });
    await expect.poll(() => target.done).toContain('wait');
    leave.abort();
    expect(await begun).toMatchObject({ failure: 'stopped', mayHaveRun: true });
    await expect.poll(() => target.done).toContain('cancelled');
  });
  it('answers many at once, each its own', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => callTool(server, 'echo', { n })));
    expect(
      answers.map((answer) => JSON.parse(JSON.stringify(answer).match(/\{\\"n\\":(\d+)/)?.[1] ?? '-1')),
    ).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
  it.skipIf(kind === 'stateless')('says that its tools changed', async () => {
    const said: string[] = [];
    const subscription = server.subscribe({ toolsListChanged: true }, ({ method }) => said.push(method));
    await expect
      .poll(async () => {
        await target.changeTools();
        return said;
      })
      .toContain('notifications/tools/list_changed');
    subscription.close();
  });
  it('answers an unknown method as the server does', async () => {
    expect(await askServer(server, { method: 'no/such' })).toMatchObject({ error: { code: -32601 } });
  });
});
