/** The conformance server: what the suite expects to find, on the official SDK, the same in both eras. */
import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type JSONObject,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { ASKING_TOOLS } from './asking-tools.ts';
import { PLAIN_TOOLS } from './plain-tools.ts';
import { PROMPTS } from './prompts.ts';
import { RESOURCES, readResource, TEMPLATES } from './resources.ts';
import { form } from './schemas.ts';
import { TASK_TOOLS } from './task-tools.ts';
import { serveTasks, TASKS } from './tasks.ts';
import type { Surroundings, ToolTable } from './tool.ts';

const LEGACY_TOOLS: ToolTable = { ...PLAIN_TOOLS, ...ASKING_TOOLS };
const TOOLS: Readonly<Record<Era, ToolTable>> = {
  legacy: LEGACY_TOOLS,
  modern: { ...LEGACY_TOOLS, ...TASK_TOOLS },
};

type Era = 'modern' | 'legacy';

/** A server for one request or one session. @param changes tell those who listen to any of them */
export function makeServer(era: Era, changes: Surroundings['changes']): Server {
  const server = new Server(
    { name: 'conformance', version: '1' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
        ...(era === 'modern' ? { extensions: { [TASKS]: {} } } : {}),
      },
      requestState: { verify: STATES.verify },
    },
  );
  serveTools(server, TOOLS[era], changes);
  if (era === 'modern') serveTasks(server);
  servePrompts(server);
  serveResources(server);
  server.setRequestHandler('completion/complete', async () => ({ completion: { values: [], total: 0 } }));
  return server;
}

function serveTools(server: Server, table: ToolTable, changes: Surroundings['changes']): void {
  server.setRequestHandler('tools/list', async () => ({
    tools: Object.entries(table).map(([name, { description, inputSchema }]) => ({
      name,
      description,
      // Its type wants JSON that may be changed.
      inputSchema: (inputSchema ?? { type: 'object' }) as Tool['inputSchema'],
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = Object.hasOwn(table, params.name) ? table[params.name] : undefined;
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    const capabilities = server.getClientCapabilities() ?? {};
    return tool.run(params.arguments ?? {}, context, { changes, capabilities, mint: STATES.mint });
  });
}

function servePrompts(server: Server): void {
  server.setRequestHandler('prompts/list', async () => ({
    prompts: [
      ...Object.entries(PROMPTS).map(([name, { description, takes = [] }]) => ({
        name,
        description,
        arguments: takes.map((argument) => ({ name: argument, required: true })),
      })),
      { name: ASKING_PROMPT, description: 'Asks before it answers' },
    ],
  }));
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    if (name === ASKING_PROMPT) {
      const answer = inputResponse(mcpReq.inputResponses, 'user_context');
      if (answer.kind === 'missing') return inputRequired({ inputRequests: { user_context: QUESTION } });
      const said = { type: 'text' as const, text: JSON.stringify(answer) };
      return { messages: [{ role: 'user', content: said }] };
    }
    const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined;
    if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`);
    return { messages: prompt.say(args).map((content) => ({ role: 'user' as const, content })) };
  });
}

function serveResources(server: Server): void {
  server.setRequestHandler('resources/list', async () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler('resources/templates/list', async () => ({ resourceTemplates: [...TEMPLATES] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = readResource(uri);
    if (!found) throw new ResourceNotFoundError(uri);
    return { contents: [found] };
  });
  server.setRequestHandler('resources/subscribe', async () => ({}));
  server.setRequestHandler('resources/unsubscribe', async () => ({}));
}

const ASKING_PROMPT = 'test_input_required_result_prompt';
const QUESTION = inputRequired.elicit({
  message: 'What context should the prompt use?',
  requestedSchema: form({ context: { type: 'string' } }),
});
/** What a modern client brings back is all that a server of its next request knows of the last. */
const STATES = createRequestStateCodec<JSONObject>({ key: randomBytes(32) });
