/** The servers that manifests declare: their connections, opened where their credentials may go. */
import type { McpTools } from '../../../core-lite/record/mcp-tools.ts';
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import type { SessionFacts } from '../../../core-lite/state/session.ts';
import type { AnyCall } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import { ArgumentSchemas } from '../see/argument-schemas.ts';
import { ServerTools } from '../see/server-tools.ts';
import { ToolMemory } from '../see/tool-memory.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import type { FindReach } from '../upstream/server.ts';
import { mostOf, ourselves } from './client-rights.ts';
import { reachServer } from './reach-server.ts';
import { ServerTalk } from './server-talk.ts';

export type MiddleGate = Pick<
  Gate,
  'starter' | 'record' | 'credentials' | 'openNetworks' | 'mcpServers' | 'now'
>;

/** A server that a session's manifest declares. */
export interface DeclaredServer {
  readonly session: SessionFacts;
  readonly name: string;
  readonly declared: McpServer;
}

/** `null` where the manifest declares none of that name. */
export function findDeclared(session: SessionFacts, name: string): DeclaredServer | null {
  const { mcpServers } = session.manifest;
  const declared = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
  return declared ? { session, name, declared } : null;
}

/** By name. */
export function listDeclared(session: SessionFacts): readonly DeclaredServer[] {
  const names = Object.keys(session.manifest.mcpServers).toSorted();
  return names.flatMap((name) => findDeclared(session, name) ?? []);
}

export class DeclaredServers {
  readonly #gate: MiddleGate;
  readonly #pins: McpTools;
  readonly #memory = new ToolMemory();
  readonly #schemas = new ArgumentSchemas();

  constructor(gate: MiddleGate, pins: McpTools) {
    this.#gate = gate;
    this.#pins = pins;
  }

  /**
   * Rejects with a Fault only.
   * @param call for which it is asked; its credential is written there
   */
  async open(call: AnyCall, at: DeclaredServer, signal: AbortSignal): Promise<ServerTalk | Failed> {
    const { session, name, declared } = at;
    const credentialId = await this.judge(at);
    if (typeof credentialId === 'object' && credentialId) return credentialId;
    call.credentialId = credentialId;
    const place = { sessionId: session.id, server: name };
    const client = ourselves(mostOf(declared.allow));
    const find = this.#finder(at);
    const server = await this.#gate.mcpServers.open({ place, server: declared, find, client, signal });
    if ('failure' in server) return server;
    const { now, record } = this.#gate;
    const tools = new ServerTools({
      ...{ memory: this.#memory, pins: this.#pins, now, place, declared },
      onChanged: (tool) => record.toolChanged(call, { server: name, tool, action: declared.onChangedTool }),
    });
    return new ServerTalk({ name, declared, server, tools, schemas: this.#schemas });
  }

  /** The id of the credential that it is asked with, or why it may not be asked. */
  async judge(at: DeclaredServer): Promise<string | null | Failed> {
    const reach = await this.#finder(at)();
    return 'failure' in reach ? reach : (reach.credentials[0]?.credential.id ?? null);
  }

  /** The tools of a server that the session was shown, as far as this process knows. */
  seenTools({ session, name }: DeclaredServer): readonly string[] {
    return [...this.#memory.of({ sessionId: session.id, server: name }).pins.keys()];
  }

  /** Ends the session's connection, and what the server holds for it. Rejects with Fault `database_unreachable`. */
  end(at: DeclaredServer): Promise<void> {
    const { session, name, declared } = at;
    const place = { sessionId: session.id, server: name };
    return this.#gate.mcpServers.end({ place, server: declared, find: this.#finder(at) });
  }

  #finder({ session: { user }, declared }: DeclaredServer): FindReach {
    return async () => {
      const reach = await reachServer(this.#gate, declared, user).catch(this.#gate.record.failure);
      return reach ?? fail('credential', false, 'it could not be read');
    };
  }
}
