/** All servers of a session as one, through the real gates and with official clients. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { connectMcp, type McpTestClient } from '../support/mcp-clients.ts';
import { type McpTestServer, startMcpServer } from '../support/mcp-servers.ts';
import { type PlainMcp, startPlainMcp, text, tool } from '../support/plain-mcp.ts';

const CLIENTS = ['v1', 'v2', 'modern'] as const;
let one: PlainMcp;
let two: PlainMcp;
let legacy: McpTestServer;
let gates: TestGates;
let run: TestRun;
const clients: McpTestClient[] = [];

beforeAll(async () => {
  one = await startPlainMcp('one.test', library('one', ['search', 'only']), ALL);
  two = await startPlainMcp('two.test', library('two', ['search', 'one_only', 'x'.repeat(70)]), ALL);
  legacy = await startMcpServer('legacy.test', 'stateful');
  const places = [one, two, legacy].map(({ host, port }) => ({ host, port, caPem: null }));
  const dead = { host: 'dead.test', port: 1, caPem: null };
  gates = await startTestGates([...places, dead], {
    SALLYPORT_OPEN_NETWORKS: [...places, dead]
      .map(({ host, port }) => `${host}:${port}=127.0.0.0/8`)
      .join(','),
  });
  run = await gates.run({
    mcpServers: {
      two: { url: two.url },
      one: { url: one.url },
      legacy: { url: legacy.url },
      dead: { url: 'http://dead.test:1/mcp' },
    },
  });
});

afterAll(async () => {
  for (const client of clients) await client.close();
  await gates?.close();
  for (const server of [one, two, legacy]) await server?.close();
});

async function connect(kind: (typeof CLIENTS)[number], of: TestRun = run): Promise<McpTestClient> {
  const client = await connectMcp(kind, gates.gates.address.port, '/mcp', of.token);
  clients.push(client);
  return client;
}

describe.each(CLIENTS)('a client of %s', (kind) => {
  it('sees the tools of all servers that are there, and calls each at its own', async () => {
    const { list, call, sdk } = await connect(kind);
    const names = (await list()).map(({ name }) => name);
    expect(names).toEqual([
      ...['echo', 'progress', 'ask', 'wait'],
      ...['one_search', 'only'],
      ...['two_search', 'two_one_only', expect.stringMatching(/^two_x{49}_[0-9a-f]{10}$/)],
    ]);
    for (const [name, said] of [
      ['one_search', 'one: search'],
      ['two_search', 'two: search'],
      ['only', 'one: only'],
      ['one_only', 'one: only'],
      ['two_one_only', 'two: one_only'],
      [names.at(-1) ?? '', `two: ${'x'.repeat(70)}`],
    ]) {
      expect((await call(name as string)).content[0]?.text).toBe(said);
    }
    expect((await call('echo')).content[0]?.text).toContain('"name":"echo"');
    await expect(call('search')).rejects.toThrow(/one_search or two_search/);
    await expect(call('nothing')).rejects.toMatchObject({ code: -32_602 });
    expect(sdk.getInstructions()).toBe('# legacy\n\nbe brief');
    expect(sdk.getServerCapabilities()).toMatchObject({
      prompts: {},
      resources: {},
      tools: { listChanged: true },
    });
  });

  it('finds the prompts, resources and completions of each', async () => {
    const { sdk } = await connect(kind);
    const { prompts } = await sdk.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['one_ask', 'two_ask']);
    expect(await sdk.getPrompt({ name: 'two_ask' })).toMatchObject({ description: 'two: ask' });
    expect((await sdk.listResources()).resources.map(({ uri }) => uri)).toEqual([
      'lib:shared',
      'lib:one',
      'lib:two',
    ]);
    const { resourceTemplates } = await sdk.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'one://{+path}',
      'two://{+path}',
    ]);
    for (const [uri, said] of [
      ['lib:shared', 'one: lib:shared'],
      ['lib:two', 'two: lib:two'],
      ['two://deep/er', 'two: two://deep/er'],
    ]) {
      expect(await sdk.readResource({ uri: uri as string })).toMatchObject({ contents: [{ text: said }] });
    }
    await expect(sdk.readResource({ uri: 'three://x' })).rejects.toThrow(/no server lists/);
    const complete = (ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }) =>
      sdk.complete({ ref, argument: { name: 'a', value: 'b' } });
    expect(await complete({ type: 'ref/prompt', name: 'two_ask' })).toMatchObject({
      completion: { values: ['two: ask'] },
    });
    expect(await complete({ type: 'ref/resource', uri: 'one://{+path}' })).toMatchObject({
      completion: { values: ['one: one://{+path}'] },
    });
  });
});

it('calls a tool by its merged name where no list came before', async () => {
  const fresh = await gates.run({ mcpServers: { one: { url: one.url }, two: { url: two.url } } });
  const { call } = await connect('modern', fresh);
  expect((await call('two_search')).content[0]?.text).toBe('two: search');
});

it('hides what a manifest denies, and then needs no longer name', async () => {
  const some = await gates.run({
    mcpServers: { one: { url: one.url }, two: { url: two.url, tools: { deny: ['search', 'x*'] } } },
  });
  const { list, call } = await connect('modern', some);
  expect((await list()).map(({ name }) => name)).toEqual(['search', 'only', 'two_one_only']);
  expect((await call('search')).content[0]?.text).toBe('one: search');
  await expect(call('two_search')).rejects.toMatchObject({ code: -32_602 });
});

it('keeps its names while one of the servers does not answer', async () => {
  const both = await gates.run({ mcpServers: { one: { url: one.url }, two: { url: two.url } } });
  const { list, call } = await connect('modern', both);
  const all = (await list()).map(({ name }) => name);
  const plays = two.plays['tools/list'];
  two.plays['tools/list'] = () => ({ error: { code: -32_000, message: 'not now' } });
  expect((await list()).map(({ name }) => name)).toEqual(all.slice(0, 2));
  expect(all.slice(0, 2)).toEqual(['one_search', 'only']);
  expect((await call('two_search')).content[0]?.text).toBe('two: search');
  if (plays) two.plays['tools/list'] = plays;
});

it('is empty where the manifest declares none, and says why where none answers', async () => {
  const nothing = await connect('modern', await gates.run({}));
  await expect(nothing.sdk.listTools()).resolves.toMatchObject({ tools: [] });
  const dead = await gates.run({ mcpServers: { dead: { url: 'http://dead.test:1/mcp' } } });
  await expect(connect('v1', dead)).rejects.toThrow(/could not be reached/);
});

function library(of: string, tools: readonly string[]) {
  const say = (what: unknown) => `${of}: ${what}`;
  return {
    'tools/list': () => ({ tools: tools.map((name) => tool(name)) }),
    'tools/call': ({ name }: { name?: unknown }) => text(say(name)),
    'prompts/list': () => ({ prompts: [{ name: 'ask' }] }),
    'prompts/get': ({ name }: { name?: unknown }) => ({ description: say(name), messages: [] }),
    'resources/list': ({ cursor }: { cursor?: unknown }) =>
      cursor === undefined
        ? { resources: [{ uri: 'lib:shared', name: of }], nextCursor: 'more' }
        : { resources: [{ uri: `lib:${of}`, name: of }] },
    'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: `${of}://{+path}`, name: of }] }),
    'resources/read': ({ uri }: { uri?: unknown }) => ({ contents: [{ uri, text: say(uri) }] }),
    'completion/complete': ({ ref }: { ref?: unknown }) => {
      const { name, uri } = ref as { name?: string; uri?: string };
      return { completion: { values: [say(name ?? uri)] } };
    },
  };
}

const ALL = { tools: {}, prompts: {}, resources: {}, completions: {} };
