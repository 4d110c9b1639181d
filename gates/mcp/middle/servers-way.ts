/**
 * The middle between MCP clients and servers: whom a call of a session may talk to. The server is one that the session's
 * manifest declares, its credentials may go to it, and the call has started at the fence before a byte goes to it.
 */
import type { Failed } from '../upstream/failures.ts';
import type { McpCaller, McpPeer, McpRefusal, McpWay } from '../way.ts';
import { type DeclaredServers, findDeclared, type MiddleGate } from './declared-servers.ts';
import { recordUnopened } from './record-request.ts';
import { ServerPeer } from './server-peer.ts';
import { tellStop } from './start-and-ask.ts';

export class ServersWay implements McpWay {
  readonly #gate: MiddleGate;
  readonly #servers: DeclaredServers;

  constructor(gate: MiddleGate, servers: DeclaredServers) {
    this.#gate = gate;
    this.#servers = servers;
  }

  async open({ call, session, server }: McpCaller): Promise<McpPeer | McpRefusal | Failed> {
    const at = server === null ? null : findDeclared(session, server);
    if (!at) return { refusal: 'server_undeclared' };
    const unstarted = await this.#gate.starter.start(call, null);
    if (unstarted) return unstarted;
    const opened = await this.#servers.open(call, at, call.signal);
    if (!('failure' in opened)) return new ServerPeer(this.#gate, call, opened);
    const told = tellStop(call, opened);
    recordUnopened(this.#gate, call, at.name, 'refusal' in told ? told.refusal : told.failure);
    return told;
  }
}
