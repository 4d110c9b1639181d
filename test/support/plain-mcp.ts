/** An MCP server of the modern era by hand, for what no SDK's server does: each method is answered as the test says. */
import { createServer, type IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject, type RpcRequest } from '../../gates/mcp/messages.ts';

/** A result, an `error`, or with `http` the whole answer: its status, headers and body. */
export type Play = (
  params: JsonObject,
  asked: Pick<RpcRequest, 'id'> & Pick<IncomingMessage, 'headers'>,
) => JsonObject | Promise<JsonObject>;

export interface WholeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PlainMcp {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** By method. May be changed at any time. */
  readonly plays: Record<string, Play>;
  readonly asked: RpcRequest[];
  /** The headers of each. */
  readonly heads: IncomingMessage['headers'][];
  /** Those of `tools/call`, by name. */
  readonly called: () => unknown[];
  close(): Promise<void>;
}

export async function startPlainMcp(
  host: string,
  plays: Record<string, Play>,
  capabilities: JsonObject = { tools: {} },
): Promise<PlainMcp> {
  const asked: RpcRequest[] = [];
  const heads: IncomingMessage['headers'][] = [];
  const all: Record<string, Play> = {
    'server/discover': () => ({
      supportedVersions: ['2026-07-28'],
      capabilities,
      ttlMs: 0,
      cacheScope: 'private',
    }),
    ...plays,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      // A legacy server’s stream, and its end: there is none.
      if (request.method !== 'POST') return response.writeHead(405).end();
      const message = JSON.parse(Buffer.concat(chunks).toString()) as RpcRequest;
      asked.push(message);
      heads.push(request.headers);
      const play = all[message.method];
      const { id } = message;
      const { headers } = request;
      const said = play ? await play(message.params ?? {}, { id, headers }) : NO_METHOD;
      const whole = said['http'] as WholeAnswer | undefined;
      const answer = isJsonObject(said['error']) ? said : { result: { resultType: 'complete', ...said } };
      response.writeHead(whole?.status ?? 200, { 'content-type': 'application/json', ...whole?.headers });
      return response.end(whole ? whole.body : JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    ...{ host, port, plays: all, asked, heads },
    url: `http://${host}:${port}/mcp`,
    called: () => asked.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.['name']),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export function tool(name: string, more: JsonObject = {}): JsonObject {
  return { name, description: `does ${name}`, inputSchema: { type: 'object' }, ...more };
}

export function text(...texts: readonly string[]): JsonObject {
  return { content: texts.map((each) => ({ type: 'text', text: each })) };
}

const NO_METHOD: JsonObject = { error: { code: -32_601, message: 'no such method' } };
