/** What a tool of the conformance server is. */
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  JSONObject,
  ServerContext,
} from '@modelcontextprotocol/server';

/** What a tool finds beside its request. */
export interface Surroundings {
  /** Tell everyone who listens, in either era. */
  readonly changes: { tools(): void; prompts(): void };
  /** What the client said that it can be asked. */
  readonly capabilities: ClientCapabilities;
  /** Signs what a client has to bring back. */
  readonly mint: (state: JSONObject) => Promise<string>;
}

export interface ConformanceTool {
  readonly description: string;
  /** Without one it takes no arguments. */
  readonly inputSchema?: { readonly type: 'object'; readonly [keyword: string]: unknown };
  run(
    args: Readonly<Record<string, unknown>>,
    context: ServerContext,
    surroundings: Surroundings,
  ): Promise<CallToolResult | InputRequiredResult>;
}

export type ToolTable = Readonly<Record<string, ConformanceTool>>;
