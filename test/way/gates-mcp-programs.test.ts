/**
 * Programs as people start them, told of a URL and a run token: each lists the tools behind the gate and calls one, of one
 * server and of all that the session declares.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runClaudeCode } from '../support/claude-code.ts';
import { startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { runInspector } from '../support/inspector.ts';
import { type McpTestServer, startMcpServer } from '../support/mcp-servers.ts';

const PATHS = ['/mcp/tools', '/mcp'] as const;
let folder: string;
let server: McpTestServer;
let gates: TestGates;
let run: TestRun;
let base: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-programs-'));
  server = await startMcpServer('tools.test', 'modern');
  const { host, port } = server;
  gates = await startTestGates([{ host, port, caPem: null }], {
    SALLYPORT_OPEN_NETWORKS: `${host}:${port}=127.0.0.0/8`,
  });
  run = await gates.run({ mcpServers: { tools: { url: server.url, tools: { allow: ['echo'] } } } });
  base = `http://127.0.0.1:${gates.gates.address.port}`;
});

afterAll(async () => {
  await gates?.close();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

describe.each(PATHS.flatMap((path) => ['legacy', 'modern'].map((era) => [era, path] as const)))(
  'the Inspector’s command line, %s, at %s',
  (era, path) => {
    const inspect = async (...words: string[]): Promise<string> => {
      const all = ['--protocol-era', era, ...words];
      const { said, status } = await runInspector(`${base}${path}`, run.token, all, folder);
      expect(status, said).toBe(0);
      return said;
    };

    it('lists tools', { timeout: 50_000 }, async () => {
      expect(await inspect('--method', 'tools/list')).toContain('"echo"');
    });

    it('calls a tool', { timeout: 50_000 }, async () => {
      const said = await inspect('--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'said=hello');
      expect(said).toContain('hello');
    });
  },
);

it.each(PATHS)('Claude Code calls a tool for its model, at %s', { timeout: 70_000 }, async (path) => {
  const headers = { authorization: `Bearer ${run.token}` };
  const config = { mcpServers: { gate: { type: 'http', url: `${base}${path}`, headers } } };
  server.done.length = 0;
  const { said, status } = await runClaudeCode({
    base,
    token: run.token,
    model: 'fixture/tools',
    prompt: 'call it',
    more: [
      ...['--mcp-config', JSON.stringify(config), '--strict-mcp-config'],
      ...['--tools', '', '--allowedTools', 'mcp__gate__echo'],
    ],
  });
  expect(said).toContain('The tool said:');
  expect(server.done).toEqual(['echo']);
  expect(status).toBe(0);
});
