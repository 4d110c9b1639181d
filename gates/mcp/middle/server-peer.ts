/**
 * One declared server as a call of the session talks to it: each request is started at the fence and recorded, whatever
 * becomes of it. The server is told no more of the client than the manifest lets it ask for.
 */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import type { Call } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { JsonObject } from '../messages.ts';
import type { Asked, ServerNotification, Subscription, UpstreamServer, Way } from '../upstream/server.ts';
import type { McpPeer, PeerAbout, PeerFilter, PeerOutcome } from '../way.ts';
import { judgeInput, mostOf, restrictAsked, restrictWay } from './client-rights.ts';
import { nameMethod, nameOutcome } from './outcomes.ts';

export interface ServerPeerOptions {
  readonly gate: Pick<Gate, 'starter' | 'record'>;
  readonly call: Call;
  /** As the manifest names it. */
  readonly name: string;
  readonly declared: McpServer;
  readonly server: UpstreamServer;
}

export class ServerPeer implements McpPeer {
  readonly #options: ServerPeerOptions;
  /** Whether the start that opened it still stands for the next request. */
  #started = true;

  constructor(options: ServerPeerOptions) {
    this.#options = options;
  }

  get about(): PeerAbout {
    return this.#options.server.about;
  }

  async request(asked: Asked, way: Way): Promise<PeerOutcome> {
    const { gate, call, name } = this.#options;
    const at = performance.now();
    const outcome = await this.#startAndAsk(asked, way);
    gate.record.mcpRequest(call, {
      server: name,
      method: nameMethod(asked.method),
      tool: asked.method === 'tools/call' ? String(asked.params['name']) : null,
      outcome: nameOutcome(asked.method, outcome),
      inputBytes: sizeOf(asked.params),
      resultBytes: 'result' in outcome ? sizeOf(outcome.result) : 0,
      ms: Math.round(performance.now() - at),
    });
    return outcome;
  }

  notify(method: string, params: JsonObject): Promise<void> {
    return this.#options.server.notify(method, params);
  }

  subscribe(filter: PeerFilter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription {
    return this.#options.server.subscribe(filter, on, onEnd);
  }

  inputSchema(_tool: string): object | null {
    return null;
  }

  async #startAndAsk(asked: Asked, way: Way): Promise<PeerOutcome> {
    const { gate, call } = this.#options;
    const unstarted = this.#started ? null : await gate.starter.start(call, null);
    this.#started = false;
    if (unstarted) return unstarted;
    const outcome = await this.#ask(asked, way);
    // What the end of the run ended is told as that.
    const ended = 'failure' in outcome && outcome.failure === 'stopped' && call.stopped;
    return ended && ended !== 'client_left' ? { refusal: ended } : outcome;
  }

  async #ask(asked: Asked, way: Way): Promise<PeerOutcome> {
    const { declared, server } = this.#options;
    const rights = mostOf(declared.allow);
    const answer = await server.request(restrictAsked(asked, rights, server.era), restrictWay(way, rights));
    return judgeInput(answer, rights) ?? answer;
  }
}

function sizeOf(value: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(value));
}
