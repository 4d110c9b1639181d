/**
 * The middle between MCP clients and servers: whom a call of a session may talk to. The server is one that the session's
 * manifest declares, its credentials may go to it, and the call has started at the fence before a byte goes to it.
 */
import type { McpTools } from '../../../core-lite/record/mcp-tools.ts';
import type { SessionFacts } from '../../../core-lite/state/session.ts';
import type { Gate } from '../../gate.ts';
import { ArgumentSchemas } from '../see/argument-schemas.ts';
import { ServerTools } from '../see/server-tools.ts';
import { ToolMemory } from '../see/tool-memory.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import type { FindReach } from '../upstream/server.ts';
import type { McpCaller, McpPeer, McpRefusal, McpWay } from '../way.ts';
import { mostOf, ourselves } from './client-rights.ts';
import { reachServer } from './reach-server.ts';
import { ServerPeer } from './server-peer.ts';

export type MiddleGate = Pick<
  Gate,
  'starter' | 'record' | 'credentials' | 'openNetworks' | 'mcpServers' | 'now'
>;

export class ServersWay implements McpWay {
  readonly #gate: MiddleGate;
  readonly #pins: McpTools;
  readonly #memory = new ToolMemory();
  readonly #schemas = new ArgumentSchemas();

  constructor(gate: MiddleGate, pins: McpTools) {
    this.#gate = gate;
    this.#pins = pins;
  }

  async open({ call, session, server }: McpCaller): Promise<McpPeer | McpRefusal | Failed> {
    if (server === null) return { refusal: 'server_undeclared' };
    const { mcpServers } = session.manifest;
    if (!Object.hasOwn(mcpServers, server)) return { refusal: 'server_undeclared' };
    const unstarted = await this.#gate.starter.start(call, null);
    if (unstarted) return unstarted;
    const opened = await this.#openServer({ call, session, server });
    if (!('failure' in opened)) return opened;
    const { stopped } = call;
    const told = stopped && stopped !== 'client_left' ? { refusal: stopped } : opened;
    this.#gate.record.mcpRequest(call, {
      server,
      method: 'connect',
      tool: null,
      outcome: 'refusal' in told ? told.refusal : told.failure,
      inputBytes: 0,
      resultBytes: 0,
      ms: 0,
    });
    return told;
  }

  async #openServer({ call, session, server: name }: McpCaller & { readonly server: string }) {
    const { mcpServers } = this.#gate;
    const declared = session.manifest.mcpServers[name];
    if (!declared) return fail('refused', false);
    const find = this.#finder(session, name);
    const reach = await find();
    if ('failure' in reach) return reach;
    call.credentialId = reach.credentials[0]?.credential.id ?? null;
    const client = ourselves(mostOf(declared.allow));
    const place = { sessionId: session.id, server: name };
    const server = await mcpServers.open({ place, server: declared, find, client, signal: call.signal });
    if ('failure' in server) return server;
    const tools = new ServerTools({
      memory: this.#memory,
      pins: this.#pins,
      now: this.#gate.now,
      place,
      declared,
      onChanged: (tool) =>
        this.#gate.record.toolChanged(call, { server: name, tool, action: declared.onChangedTool }),
    });
    return new ServerPeer({ gate: this.#gate, call, name, declared, server, tools, schemas: this.#schemas });
  }

  #finder({ manifest, user }: SessionFacts, name: string): FindReach {
    return async () => {
      const declared = manifest.mcpServers[name];
      if (!declared) return fail('refused', false);
      const reach = await reachServer(this.#gate, declared, user).catch(this.#gate.record.failure);
      return reach ?? fail('credential', false, 'it could not be read');
    };
  }
}
