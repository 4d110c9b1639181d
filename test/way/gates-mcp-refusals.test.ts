/** What a client of MCP is refused before any server is asked, each in MCP's own shape and with its reason. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type McpTestServer, startMcpServer } from '../support/mcp-servers.ts';

let server: McpTestServer;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  server = await startMcpServer('asked.test', 'stateful');
  const { host, port, url } = server;
  const opened = { SALLYPORT_OPEN_NETWORKS: `${host}:${port}=127.0.0.0/8` };
  gates = await startTestGates([{ host, port, caPem: null }], opened);
  run = await gates.run({ mcpServers: { asked: { url } } });
});
afterAll(async () => {
  await gates?.close();
  await server?.close();
});

const LEGACY = { 'mcp-protocol-version': '2025-11-25' };
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const REVISION = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'a client', version: '1' },
};
const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: REVISION });

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const CASES: readonly (readonly [reason: string, status: number, asked: Asked])[] = [
  ['accept_refused', 406, { headers: { accept: 'application/json' }, body: INITIALIZE }],
  ['media_type_refused', 415, { headers: { 'content-type': 'text/plain' }, body: INITIALIZE }],
  ['origin_refused', 403, { headers: { origin: 'https://evil.test' }, body: INITIALIZE }],
  ['mcp_session_missing', 400, { headers: LEGACY, body: PING }],
  ['mcp_session_unknown', 404, { headers: { ...LEGACY, 'mcp-session-id': 'nobody' }, body: PING }],
  ['method_refused', 405, { method: 'GET' }],
  ['method_refused', 405, { method: 'DELETE' }],
];

it.each(CASES)('refuses with %s, %d: %j', async (reason, status, asked) => {
  const reply = await ask(asked);
  expect([reply.status, reply.reason]).toEqual([status, reason]);
  expect(reply.text).not.toContain(run.token);
});

it('refuses a revision that the session does not speak', async () => {
  const begun = await ask({ body: INITIALIZE });
  expect([begun.status, begun.session]).toEqual([200, expect.any(String)]);
  const session = { 'mcp-session-id': begun.session ?? '' };
  const reply = await ask({ headers: { ...session, 'mcp-protocol-version': '1999-01-01' }, body: PING });
  expect([reply.status, reply.reason]).toEqual([400, 'mcp_version_unknown']);
  expect((await ask({ headers: { ...session, ...LEGACY }, body: PING })).status).toBe(200);
});

async function ask({ method = 'POST', headers = {}, body }: Asked) {
  const answer = await fetch(`http://127.0.0.1:${gates.gates.address.port}/mcp/asked`, {
    method,
    headers: {
      authorization: `Bearer ${run.token}`,
      accept: 'application/json, text/event-stream',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: answer.status,
    reason: answer.headers.get('sallyport-reason'),
    session: answer.headers.get('mcp-session-id'),
    text: await answer.text(),
  };
}
