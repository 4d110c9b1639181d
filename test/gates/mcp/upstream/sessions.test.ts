/** What survives of a server's session: another replica takes it up, and a server that forgot it is begun anew by the rules. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { UpstreamServers } from '../../../../gates/mcp/upstream/servers.ts';
import {
  askServer,
  callTool,
  declare,
  type McpRig,
  openServer,
  startMcpRig,
} from '../../../support/mcp-rig.ts';
import { type McpTestServer, startMcpServer } from '../../../support/mcp-servers.ts';

let rig: McpRig;
let target: McpTestServer;
let one: UpstreamServers;
let two: UpstreamServers;

beforeAll(async () => {
  rig = await startMcpRig(['stateful.test', 'sse.test', 'modern.test']);
  target = await startMcpServer('stateful.test', 'stateful');
  [one, two] = [await rig.replica(), await rig.replica()];
});
afterAll(async () => {
  await target?.close();
  await rig?.close();
});
afterEach(() => {
  target.asked.length = 0;
  target.done.length = 0;
});

const asked = (method: string): number =>
  target.asked.filter(({ body }) => body.includes(`"${method}"`)).length;
const sessionIds = (): Set<unknown> =>
  new Set(target.asked.flatMap(({ headers }) => headers['mcp-session-id'] ?? []));

describe('a session of a legacy server', () => {
  it('is taken up by another replica, which asks nothing again', async () => {
    const session = await rig.session();
    await callTool(await openServer(one, session, declare(target.url)), 'echo');
    const server = await openServer(two, session, declare(target.url));
    expect(server.about.serverInfo).toMatchObject({ name: 'legacy' });
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    expect(asked('initialize')).toBe(1);
    expect(sessionIds().size).toBe(1);
    const ids = target.asked.flatMap(({ body }) => (body.includes('tools/call') ? JSON.parse(body).id : []));
    expect(new Set(ids).size).toBe(2);
  });
  it('is one, though two replicas begin at once', async () => {
    const session = await rig.session();
    const servers = await Promise.all(
      [one, two].map((each) => openServer(each, session, declare(target.url))),
    );
    const answers = await Promise.all(servers.map((server) => callTool(server, 'echo')));
    for (const answer of answers) expect(answer).toHaveProperty('result');
    const called = target.asked.filter(({ body }) => body.includes('tools/call'));
    expect(new Set(called.map(({ headers }) => headers['mcp-session-id'])).size).toBe(1);
  });
  it('begins anew in silence while nothing was called', async () => {
    const server = await openServer(one, await rig.session(), declare(target.url));
    expect(await askServer(server, { method: 'tools/list' })).toHaveProperty('result');
    await target.restart();
    expect(await askServer(server, { method: 'tools/list' })).toHaveProperty('result');
    await target.restart();
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    expect(asked('initialize')).toBe(3);
    expect(target.done).toEqual(['echo']);
  });
  it('is lost with one visible error once something was called', async () => {
    const session = await rig.session();
    const server = await openServer(one, session, declare(target.url));
    await callTool(server, 'echo');
    await target.restart();
    expect(await callTool(server, 'echo')).toEqual({
      failure: 'session_lost',
      mayHaveRun: false,
      detail: null,
    });
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    expect(target.done).toEqual(['echo', 'echo']);
  });
  it('tells all who were asked under it, and no other replica again', async () => {
    const session = await rig.session();
    const [first, second] = [
      await openServer(one, session, declare(target.url)),
      await openServer(two, session, declare(target.url)),
    ];
    await callTool(first, 'echo');
    await target.restart();
    const both = await Promise.all([callTool(first, 'echo'), callTool(first, 'echo')]);
    expect(both).toMatchObject([{ failure: 'session_lost' }, { failure: 'session_lost' }]);
    expect(await callTool(first, 'echo')).toHaveProperty('result');
    expect(await callTool(second, 'echo')).toHaveProperty('result');
    expect(asked('initialize')).toBe(2);
  });
  it('begins anew in silence where the server is declared stateless', async () => {
    const server = await openServer(one, await rig.session(), declare(target.url, { stateless: true }));
    await callTool(server, 'echo');
    await target.restart();
    expect(await callTool(server, 'echo')).toHaveProperty('result');
  });
  it('asks once whether a call may be sent, though it is sent twice', async () => {
    const server = await openServer(one, await rig.session(), declare(target.url));
    await askServer(server, { method: 'tools/list' });
    await target.restart();
    let times = 0;
    const beforeSend = async (): Promise<boolean> => {
      times += 1;
      return times === 1;
    };
    expect(await callTool(server, 'echo', {}, { beforeSend })).toHaveProperty('result');
    expect(times).toBe(1);
  });
  it('ends with its connection’s end, and with our session’s', async () => {
    const session = await rig.session();
    const server = await openServer(one, session, declare(target.url));
    await callTool(server, 'echo');
    await rig.world.call('POST', `/v1/sessions/${session}/end`);
    await expect.poll(() => target.done).toContain('deleted');
    await expect
      .poll(() => rig.database.query('SELECT 1 FROM mcp_upstreams WHERE session_id = $1', [session]))
      .toEqual([]);
  });
  it('has no secret of it in the open', async () => {
    const session = await rig.session();
    await openServer(one, session, declare(target.url));
    const [id] = [...sessionIds()];
    const [row] = await rig.database.query<{ text: string }>(
      `SELECT encode(link, 'escape') || encode(discovery, 'escape') AS text FROM mcp_upstreams WHERE session_id = $1`,
      [session],
    );
    expect(row?.text).not.toContain(String(id));
    expect(row?.text).not.toContain('be brief');
  });
});

describe('what is listened for', () => {
  it('is asked for once, however many listen, and again behind a restart', async () => {
    const server = await openServer(one, await rig.session(), declare(target.url));
    const subscribed = (): number => target.done.filter((each) => each === 'subscribe file:///a').length;
    const filter = { resourceSubscriptions: ['file:///a'] };
    const [first, second] = [server.subscribe(filter, () => {}), server.subscribe(filter, () => {})];
    await expect.poll(subscribed).toBe(1);
    await target.restart();
    expect(await askServer(server, { method: 'tools/list' })).toHaveProperty('result');
    await expect.poll(subscribed).toBe(2);
    first.close();
    expect(asked('resources/unsubscribe')).toBe(0);
    second.close();
    await expect.poll(() => asked('resources/unsubscribe')).toBe(1);
  });
  it('ends with the session, and whoever listened is told', async () => {
    const session = await rig.session();
    const server = await openServer(one, session, declare(target.url));
    const ended = new Promise<void>((resolve) => {
      server.subscribe({ toolsListChanged: true }, () => {}, resolve);
    });
    await rig.world.call('POST', `/v1/sessions/${session}/end`);
    await ended;
  });
});

describe('a call that may not be sent', () => {
  it('is not', async () => {
    const server = await openServer(one, await rig.session(), declare(target.url));
    const answer = await callTool(server, 'echo', {}, { beforeSend: () => Promise.resolve(false) });
    expect(answer).toEqual({ failure: 'stopped', mayHaveRun: false, detail: null });
    expect(target.done).not.toContain('echo');
  });
});

describe('a stream of the old transport that broke off', () => {
  it('loses what runs, and is begun anew with the next call', async () => {
    const old = await startMcpServer('sse.test', 'sse');
    const server = await openServer(one, await rig.session(), declare(old.url));
    await callTool(server, 'echo');
    const waiting = callTool(server, 'wait');
    await expect.poll(() => old.done).toContain('wait');
    await old.restart();
    expect(await waiting).toMatchObject({ failure: 'lost', mayHaveRun: true });
    // Whoever waited has seen it.
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    await old.restart();
    // It may break off before the call, or under it: either is told, once.
    expect(await callTool(server, 'echo')).toHaveProperty('failure');
    expect(await callTool(server, 'echo')).toHaveProperty('result');
    await old.close();
  });
});

describe('what is known of a server', () => {
  it('spares other sessions the question', async () => {
    const modern = await startMcpServer('modern.test', 'modern');
    for (let n = 0; n < 3; n += 1) {
      const server = await openServer(one, await rig.session(), declare(modern.url));
      expect(server.about.instructions).toBe('be kind');
    }
    expect(modern.asked).toHaveLength(1);
    // With another credential it may be another server.
    await openServer(one, await rig.session(), declare(modern.url), { token: 'other' });
    expect(modern.asked).toHaveLength(2);
    await modern.close();
  });
});
