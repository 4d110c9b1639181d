/** Unmodified MCP clients of the official SDKs, as an agent's code makes them: a URL and a run token. */
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly annotations?: object | undefined;
}

interface CalledTool {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean | undefined;
}

/** What the tests ask of either. */
export interface McpTestClient {
  list(): Promise<readonly McpTool[]>;
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<CalledTool>;
  readonly sdk: NewClient | OldClient;
  close(): Promise<void>;
}

/** @param kind which SDK: v1, v2, or v2 told to speak the modern era */
export async function connectMcp(
  kind: 'v1' | 'v2' | 'modern',
  port: number,
  path: string,
  token: string,
): Promise<McpTestClient> {
  const url = new URL(`http://127.0.0.1:${port}${path}`);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const info = { name: 'test', version: '0' };
  if (kind === 'v1') {
    const client = new OldClient(info);
    // Its types and ours disagree on what may be undefined.
    await client.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient['connect']>[0]);
    return {
      sdk: client,
      list: async () => (await client.listTools()).tools,
      call: async (name, args = {}, signal) =>
        (await client.callTool({ name, arguments: args }, undefined, signal ? { signal } : {})) as CalledTool,
      close: () => client.close(),
    };
  }
  const client = new NewClient(info, kind === 'modern' ? { versionNegotiation: { mode: 'auto' } } : {});
  await client.connect(new NewTransport(url, { requestInit }));
  return {
    sdk: client,
    list: async () => (await client.listTools()).tools,
    call: async (name, args = {}, signal) =>
      (await client.callTool({ name, arguments: args }, signal ? { signal } : {})) as CalledTool,
    close: () => client.close(),
  };
}
