/** Two gates on one database with a tool whose calls are counted by the tool itself, for the tests of keyed calls. */
import type { Service } from '../../core-lite/service.ts';
import { askGates, type Reply, startTestGates, type TestGates, type TestRun } from './gates.ts';
import { type Provider, startProvider } from './provider.ts';

export interface CrossedGates {
  readonly gates: TestGates;
  readonly tool: Provider;
  /** Nothing listens there. */
  readonly away: Provider;
  readonly ports: readonly [number, number];
  readonly second: Service;
  run(): Promise<TestRun>;
  /** Sends a keyed call to the first gate, or to that of `port`. */
  call(run: TestRun, key: string, more?: KeyedAsk): Promise<Reply>;
  cancel(run: TestRun, key: string, port?: number): Promise<Reply>;
  /** How often the tool was asked with this `n`. */
  count(n: number): number;
  /** What the operator is shown of a run's calls, oldest first. */
  listed(run: TestRun): Promise<readonly ListedCall[]>;
  close(): Promise<void>;
}

interface KeyedAsk {
  readonly n?: number;
  readonly port?: number;
  readonly tool?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves before the answer when it is aborted. */
  readonly leave?: AbortSignal;
}

interface ListedCall {
  readonly key: string;
  readonly status: string;
  readonly code: string | null;
  readonly tool: string;
  readonly turnId: string;
  readonly durationMs: number | null;
  readonly resultBytes: number | null;
}

export async function startCrossedGates(
  settings: Readonly<Record<string, string>> = {},
): Promise<CrossedGates> {
  const tool = await startProvider('tool.test', { plain: true });
  const away = await startProvider('away.test', { plain: true });
  await away.close();
  const open = [tool, away].map(({ host, port }) => `${host}:${port}=127.0.0.0/8`).join(',');
  const gates = await startTestGates([tool, away], { SALLYPORT_OPEN_NETWORKS: open, ...settings });
  const second = await gates.world.gates();
  const ports = [gates.gates.address.port, second.address.port] as const;
  return {
    gates,
    tool,
    ports,
    second,
    away,
    run: () => gates.run(manifestOf(tool.port, away.port)),
    call: (run, key, more = {}) => callTool(more.port ?? ports[0], run, key, more),
    cancel: (run, key, port = ports[0]) =>
      askGates(port, `/v1/tool-calls/${encodeURIComponent(key)}/cancel`, {
        headers: { authorization: `Bearer ${run.token}` },
      }),
    count: (n) => tool.asked.filter(({ body }) => JSON.parse(body.toString()).n === n).length,
    listed: async (run) =>
      (await gates.world.call<ListedCall[]>('GET', `/v1/sessions/${run.session}/calls/tool`)).toReversed(),
    close: async () => {
      await gates.close();
      await tool.close();
    },
  };
}

function manifestOf(port: number, awayPort: number): object {
  const tool = { method: 'POST', inputSchema: { type: 'object' } };
  return {
    httpTools: {
      post: { ...tool, url: `http://tool.test:${port}/do` },
      hasty: { ...tool, url: `http://tool.test:${port}/do`, timeoutMs: 200 },
      away: { ...tool, url: `http://away.test:${awayPort}/do` },
    },
    mcpServers: { tool: { url: `http://tool.test:${port}${MCP_PATH}` } },
  };
}

/** The same as an MCP server's tool. */
export const MCP_PATH = '/mcp';

export function callMcpTool(
  port: number,
  run: Pick<TestRun, 'token'>,
  key: string,
  { n = 1, leave }: KeyedAsk,
): Promise<Reply> {
  const body = JSON.stringify({ server: 'tool', tool: 'post', arguments: { n } });
  return askKeyed(port, '/v1/tool-calls', run, key, { body, ...(leave ? { leave } : {}) });
}

export async function callTool(
  port: number,
  run: Pick<TestRun, 'token'>,
  key: string,
  { n = 1, tool = 'post', body, ...more }: KeyedAsk,
): Promise<Reply> {
  return askKeyed(port, `/v1/http-calls/${tool}`, run, key, {
    ...more,
    body: body ?? JSON.stringify({ input: { n } }),
  });
}

function askKeyed(
  port: number,
  path: string,
  run: Pick<TestRun, 'token'>,
  key: string,
  { body = '', headers = {}, leave }: KeyedAsk,
): Promise<Reply> {
  const asked = {
    headers: {
      authorization: `Bearer ${run.token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
      ...headers,
    },
    body,
  };
  return askGates(port, path, leave ? { ...asked, signal: leave } : asked);
}

/** Resolves once `holds`; rejects after ten seconds. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('it did not come to hold');
}
