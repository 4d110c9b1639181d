/**
 * The client that the suite starts with the URL of its server behind: it makes a session that declares this server, and
 * does what the scenario wants to see with the SDK's client, through the gate. Told of no gate, it goes to the URL
 * itself, which is what the table compares with.
 */
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { adminApi } from '../kit/admin-api.ts';
import { openRun } from '../kit/leased-run.ts';

/** By scenario; each is connected already. */
const SCENARIOS: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  initialize: async (client) => void (await client.listTools()),
  'request-metadata': async () => {},
  tools_call: async (client) => {
    await client.listTools();
    await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
  },
  'elicitation-sep1034-client-defaults': callAll,
  'sse-retry': callAll,
  'http-standard-headers': useAll,
  'http-custom-headers': async (client) => {
    await client.listTools();
    for (const { name, arguments: args } of context().toolCalls ?? []) await call(client, name, args);
  },
  'http-invalid-tool-headers': (client) => callAll(client, { region: 'us-west1' }),
  'json-schema-ref-no-deref': async (client) => void (await client.listTools()),
  'json-schema-2020-12-preservation': async (client) => {
    const { tools } = await client.listTools();
    const shown = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await call(client, 'json_schema_echo', { schema: shown?.inputSchema });
  },
  'sep-2322-client-request-state': callAll,
};

async function useAll(client: Client): Promise<void> {
  await callAll(client);
  const { resources } = await client.listResources();
  for (const { uri } of resources) await client.readResource({ uri });
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts) await client.getPrompt({ name });
}

async function callAll(client: Client, args: Record<string, unknown> = {}): Promise<void> {
  const { tools } = await client.listTools();
  for (const { name } of tools) await call(client, name, args);
}

/** A tool's failure is nothing to the scenario: it has seen the call. */
async function call(client: Client, name: string, args: Record<string, unknown>): Promise<void> {
  await client.callTool({ name, arguments: args }).catch((error) => console.error(`${name}: ${error}`));
}

function context(): {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
} {
  return JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
}

async function connect(place: Place): Promise<Client> {
  const client = new Client({ name: 'conformance', version: '1' }, OPTIONS);
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: MODERN ? { confirmed: true } : {},
  }));
  client.setRequestHandler('roots/list', async () => ({ roots: [] }));
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    content: { type: 'text', text: 'said' },
    model: 'test',
  }));
  const { url, headers } = place;
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

interface Place {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Lets go of all that is held for it, or the suite's server would never end. */
  leave(): Promise<unknown>;
}

async function placeOf(serverUrl: string): Promise<Place> {
  const { CORE_URL: core, ADMIN_KEY: key, GATES_URL: gates } = process.env;
  if (core === undefined || key === undefined || gates === undefined)
    return { url: serverUrl, headers: {}, leave: async () => {} };
  const api = adminApi(core, key);
  const { host, port } = new URL(serverUrl);
  // A port that is none of the web is open to whoever has a credential for it.
  await api('PUT', '/v1/vaults/suite');
  await api('PUT', `/v1/vaults/suite/credentials/at-${port}`, {
    kind: 'bearer',
    hosts: [host],
    secret: { value: 'conformance' },
  });
  const allow = { sampling: true, elicitation: true, roots: true };
  const suite = { url: serverUrl, credential: `suite/at-${port}`, allow };
  const { session, runToken } = await openRun(api, { mcpServers: { suite } });
  return {
    url: `${gates}/mcp/suite`,
    headers: { authorization: `Bearer ${runToken}` },
    leave: () => api('POST', `/v1/sessions/${session}/end`),
  };
}

const MODERN = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === '2026-07-28';
const OPTIONS: ClientOptions = {
  capabilities: { roots: {}, sampling: {}, elicitation: { form: { applyDefaults: true } } },
  ...(MODERN ? { versionNegotiation: { mode: 'auto' } } : {}),
};
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const act = Object.hasOwn(SCENARIOS, scenario) ? SCENARIOS[scenario] : undefined;
if (!act) throw new Error(`this client knows no scenario ${scenario}`);
const place = await placeOf(process.argv[2] ?? '');
const client = await connect(place);
await act(client);
await client.close();
await place.leave();
