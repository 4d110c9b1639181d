/** Small MCP servers on the official SDKs, of each era and transport, with tools that show what a connection does. */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server';
import { answerAs } from './web-handler.ts';

export interface McpTestServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Every HTTP request: method, headers, body. */
  readonly asked: {
    readonly method: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
  /** What its tools have done. */
  readonly done: string[];
  /** Forgets its sessions, as a restart does. */
  restart(): Promise<void>;
  /** Says that its tools changed. */
  changeTools(): Promise<void>;
  close(): Promise<void>;
}

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>;

interface Inner {
  readonly handle: Handle;
  readonly reset: () => Promise<void>;
  readonly change: () => Promise<void>;
}

export async function startMcpServer(
  host: string,
  kind: 'modern' | 'stateful' | 'stateless' | 'sse',
): Promise<McpTestServer> {
  const asked: McpTestServer['asked'] = [];
  const done: string[] = [];
  const inner =
    kind === 'modern' ? modern(done) : kind === 'sse' ? sse(done) : legacy(done, kind === 'stateful');
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      asked.push({ method: request.method ?? '', headers: request.headers, body });
      inner.handle(request, response, body).catch(() => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    host,
    port,
    url: `http://${host}:${port}/mcp`,
    asked,
    done,
    restart: inner.reset,
    changeTools: inner.change,
    close: async () => {
      await inner.reset();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function modern(done: string[]): Inner {
  const handler = createMcpHandler(
    () => {
      const server = new Server(
        { name: 'modern', version: '1' },
        { capabilities: { tools: { listChanged: true }, logging: {} }, instructions: 'be kind' },
      );
      server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }));
      server.setRequestHandler('tools/call', async ({ params }, context) => {
        done.push(params.name);
        if (params.name === 'ask' && context.mcpReq.inputResponses === undefined) {
          return inputRequired({
            inputRequests: { q: inputRequired.elicit(QUESTION) },
            requestState: 'state-1',
          });
        }
        if (params.name === 'wait') await untilAborted(context.mcpReq.signal, done);
        if (params.name === 'progress') {
          const token = context.mcpReq._meta?.progressToken;
          if (token !== undefined) {
            await context.mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: token, progress: 1 },
            });
          }
          await context.mcpReq.log('info', 'half way');
        }
        return { content: [{ type: 'text', text: JSON.stringify(params) }], extra: { kept: true } };
      });
      return server;
    },
    { legacy: 'reject' },
  );
  return {
    handle: (request, response, body) => answerAs((asked) => handler.fetch(asked), request, response, body),
    reset: async () => {},
    change: async () => {
      handler.notify.toolsChanged();
    },
  };
}

function legacyServer(done: string[]): LegacyServer {
  const server = new LegacyServer(
    { name: 'legacy', version: '1' },
    {
      capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
      instructions: 'be brief',
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: TOOLS }));
  server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
    done.push(`subscribe ${params.uri}`);
    return {};
  });
  server.setRequestHandler(SetLevelRequestSchema, async ({ params }) => {
    done.push(`level ${params.level}`);
    return {};
  });
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { sendNotification, _meta, signal, requestId }) => {
      done.push(params.name);
      if (params.name === 'wait') await untilAborted(signal, done);
      if (params.name === 'progress') {
        const progressToken = _meta?.progressToken;
        if (progressToken !== undefined) {
          await sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress: 1 },
          });
        }
        await sendNotification({
          method: 'notifications/message',
          params: { level: 'info', data: 'half way' },
        });
      }
      if (params.name === 'ask') {
        const said = await server.elicitInput(QUESTION, { relatedRequestId: requestId });
        return { content: [{ type: 'text', text: JSON.stringify(said) }] };
      }
      return { content: [{ type: 'text', text: JSON.stringify(params) }], extra: { kept: true } };
    },
  );
  return server;
}

function legacy(done: string[], stateful: boolean): Inner {
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; server: LegacyServer }>();
  const begin = async (): Promise<StreamableHTTPServerTransport> => {
    const server = legacyServer(done);
    const transport = new StreamableHTTPServerTransport({
      ...(stateful ? { sessionIdGenerator: () => randomUUID() } : {}),
      onsessioninitialized: (id) => {
        sessions.set(id, { transport, server });
      },
      onsessionclosed: (id) => {
        sessions.delete(id);
        done.push('deleted');
      },
    });
    // Its types and ours disagree on what may be undefined.
    await server.connect(transport as Parameters<LegacyServer['connect']>[0]);
    return transport;
  };
  return {
    handle: async (request, response, body) => {
      const id = String(request.headers['mcp-session-id'] ?? '');
      const said = body === '' ? undefined : JSON.parse(body);
      if (id !== '' && !sessions.has(id)) {
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
        return;
      }
      if (stateful && id === '' && said?.method !== 'initialize') {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}');
        return;
      }
      const transport = sessions.get(id)?.transport ?? (await begin());
      await transport.handleRequest(request, response, said);
    },
    reset: async () => {
      const all = [...sessions.values()];
      sessions.clear();
      for (const { transport } of all) await transport.close();
    },
    change: async () => {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
  };
}

function sse(done: string[]): Inner {
  const sessions = new Map<string, { transport: SSEServerTransport; server: LegacyServer }>();
  return {
    handle: async (request, response, body) => {
      const url = new URL(request.url ?? '', 'http://127.0.0.1');
      if (request.method === 'GET') {
        const server = legacyServer(done);
        const transport = new SSEServerTransport('/messages', response);
        sessions.set(transport.sessionId, { transport, server });
        await server.connect(transport);
        return;
      }
      const found = sessions.get(url.searchParams.get('sessionId') ?? '');
      if (url.pathname === '/messages' && found) {
        await found.transport.handlePostMessage(request, response, JSON.parse(body));
        return;
      }
      response.writeHead(url.pathname === '/messages' ? 404 : 405).end();
    },
    reset: async () => {
      const all = [...sessions.values()];
      sessions.clear();
      for (const { transport } of all) await transport.close();
    },
    change: async () => {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
  };
}

async function untilAborted(signal: AbortSignal, done: string[]): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  done.push('cancelled');
}

const QUESTION = {
  message: 'which?',
  requestedSchema: { type: 'object' as const, properties: { a: { type: 'string' as const } } },
};
const TOOLS = ['echo', 'progress', 'ask', 'wait'].map((name) => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: 'object' as const },
  _meta: { 'example.test/kept': name },
}));
