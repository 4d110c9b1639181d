/** A legacy MCP client by hand: it posts what a test writes, and reads streams as they come. */
import type { JsonObject } from '../../gates/mcp/messages.ts';
import type { McpStand, StandGate } from './mcp-stand.ts';

export interface Posted {
  readonly status: number;
  readonly headers: Headers;
  /** What has come so far. */
  readonly messages: () => JsonObject[];
  readonly ids: () => string[];
  readonly text: () => string;
  /** Resolves when the answer is whole, rejects when it broke. */
  readonly done: Promise<void>;
  leave(): void;
}

export interface ByHand {
  /** With the id of its session, once it has one. */
  readonly heads: Record<string, string>;
  at: StandGate;
  post(message: unknown, more?: Readonly<Record<string, string>>): Promise<Posted>;
  request(id: number | string, method: string, params?: JsonObject): Promise<Posted>;
  get(more?: Readonly<Record<string, string>>): Promise<Posted>;
  send(method: string, more?: Readonly<Record<string, string>>, body?: string): Promise<Posted>;
}

/** @param server as the path names it; `undefined` for all of them */
export async function initializeByHand(
  stand: McpStand,
  gate: StandGate,
  options: { readonly version?: string; readonly capabilities?: JsonObject; readonly server?: string } = {},
): Promise<ByHand> {
  const { version = '2025-11-25', capabilities = { roots: {}, elicitation: {} }, server } = options;
  const client = await byHand(stand, gate, server);
  const clientInfo = { name: 'hand', version: '0' };
  const answer = await client.request(0, 'initialize', {
    protocolVersion: version,
    capabilities,
    clientInfo,
  });
  await answer.done;
  client.heads['mcp-session-id'] = answer.headers.get('mcp-session-id') ?? '';
  client.heads['mcp-protocol-version'] = version;
  return client;
}

export async function byHand(stand: McpStand, gate: StandGate, server?: string): Promise<ByHand> {
  const client: ByHand = {
    heads: {
      authorization: `Bearer ${await stand.token()}`,
      accept: 'application/json, text/event-stream',
    },
    at: gate,
    send: async (method, more = {}, body) => {
      const controller = new AbortController();
      const headers = { ...client.heads, ...more };
      const { signal } = controller;
      const response = await fetch(client.at.url(server), {
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body }),
      });
      return read(response, controller);
    },
    post: (message, more = {}) =>
      client.send('POST', { 'content-type': 'application/json', ...more }, JSON.stringify(message)),
    request: (id, method, params) =>
      client.post({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) }),
    get: (more = {}) => client.send('GET', { accept: 'text/event-stream', ...more }),
  };
  return client;
}

function read(response: Response, controller: AbortController): Posted {
  let text = '';
  const done = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  })();
  // Who waits for it hears of a fault.
  done.catch(() => {});
  const type = response.headers.get('content-type') ?? '';
  const lines = (name: string): string[] =>
    [...text.matchAll(new RegExp(`^${name}: (.+)$`, 'gm'))].map(([, value]) => value as string);
  return {
    status: response.status,
    headers: response.headers,
    messages: () => {
      if (type.startsWith('text/event-stream'))
        return lines('data').map((data) => JSON.parse(data) as JsonObject);
      return text === '' ? [] : [JSON.parse(text) as JsonObject];
    },
    ids: () => lines('id'),
    text: () => text,
    done,
    leave: () => controller.abort(),
  };
}
