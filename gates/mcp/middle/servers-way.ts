/**
 * The middle between MCP clients and servers: whom a call of a session may talk to. The server is one that the session's
 * manifest declares, its credentials may go to it, and the call has started at the fence before a byte goes to it.
 */
import type { SessionFacts } from '../../../core-lite/state/session.ts';
import type { Call } from '../../calls.ts';
import { ListMemory } from '../merge/list-memory.ts';
import { MergedPeer } from '../merge/merged-peer.ts';
import type { Named } from '../merge/names.ts';
import type { Failed } from '../upstream/failures.ts';
import type { McpCaller, McpPeer, McpRefusal, McpWay } from '../way.ts';
import {
  type DeclaredServer,
  type DeclaredServers,
  findDeclared,
  listDeclared,
  type MiddleGate,
} from './declared-servers.ts';
import { recordUnopened } from './record-request.ts';
import { ServerPeer } from './server-peer.ts';
import { ServerTalk } from './server-talk.ts';
import { tellStop } from './start-and-ask.ts';

export class ServersWay implements McpWay {
  readonly #gate: MiddleGate;
  readonly #servers: DeclaredServers;
  readonly #lists: ListMemory;

  constructor(gate: MiddleGate, servers: DeclaredServers) {
    this.#gate = gate;
    this.#servers = servers;
    this.#lists = new ListMemory(gate.now);
  }

  async open({ call, session, server }: McpCaller): Promise<McpPeer | McpRefusal | Failed> {
    const at = server === null ? null : findDeclared(session, server);
    if (server !== null && !at) return { refusal: 'server_undeclared' };
    const unstarted = await this.#gate.starter.start(call, null);
    if (unstarted) return unstarted;
    if (!at) return this.#openAll(call, session);
    const opened = await this.#openOne(call, at, call.signal);
    return 'failure' in opened || 'refusal' in opened ? opened : new ServerPeer(this.#gate, call, opened);
  }

  async #openAll(call: Call, session: SessionFacts): Promise<McpPeer | McpRefusal | Failed> {
    const all = listDeclared(session);
    // One that is slow to come must not keep the others from being used.
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const opened = await Promise.all(all.map((at) => this.#openOne(call, at, signal)));
    const talks = opened.filter((each) => each instanceof ServerTalk);
    const [first] = opened;
    if (first && talks.length === 0) return first as McpRefusal | Failed;
    return new MergedPeer({
      ...{ gate: this.#gate, call, talks, memory: this.#lists },
      servers: all.map(({ name }) => name),
      absent: all.filter((_, i) => !(opened[i] instanceof ServerTalk)).flatMap((at) => this.#nameSeen(at)),
    });
  }

  async #openOne(
    call: Call,
    at: DeclaredServer,
    signal: AbortSignal,
  ): Promise<ServerTalk | McpRefusal | Failed> {
    const opened = await this.#servers.open(call, at, signal);
    if (!('failure' in opened)) return opened;
    const told = tellStop(call, opened);
    recordUnopened(this.#gate, call, at.name, 'refusal' in told ? told.refusal : told.failure);
    return told;
  }

  #nameSeen(at: DeclaredServer): readonly Named[] {
    return this.#servers.seenTools(at).map((name) => ({ server: at.name, name }));
  }
}

const PATIENCE_MS = 10_000;
