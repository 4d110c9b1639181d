/**
 * One declared server as a call of the session talks to it: it shows the tools that the manifest lets it, each request is
 * started at the fence and recorded, whatever becomes of it, and the server is told no more of the client than it may.
 */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import type { Call } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { Answer, JsonObject } from '../messages.ts';
import type { Denied } from '../see/denials.ts';
import { limitResult, sizeOf } from '../see/result-limit.ts';
import type { ServerTools } from '../see/server-tools.ts';
import type { Failed } from '../upstream/failures.ts';
import type { Asked, ServerNotification, Subscription, UpstreamServer, Way } from '../upstream/server.ts';
import type { McpPeer, McpRefusal, PeerAbout, PeerFilter, PeerOutcome } from '../way.ts';
import { judgeInput, mostOf, type Rights, restrictAsked, restrictWay } from './client-rights.ts';
import { nameMethod, nameOutcome } from './outcomes.ts';
import { type ArgumentJudge, judgeCall } from './tool-call.ts';

export interface ServerPeerOptions {
  readonly gate: Pick<Gate, 'starter' | 'record'>;
  readonly call: Call;
  /** As the manifest names it. */
  readonly name: string;
  readonly declared: McpServer;
  readonly server: UpstreamServer;
  readonly tools: ServerTools;
  readonly schemas: ArgumentJudge;
}

export class ServerPeer implements McpPeer {
  readonly #options: ServerPeerOptions;
  readonly #rights: Rights;
  /** Whether the start that opened it still stands for the next request. */
  #started = true;

  constructor(options: ServerPeerOptions) {
    this.#options = options;
    this.#rights = mostOf(options.declared.allow);
  }

  get about(): PeerAbout {
    return this.#options.server.about;
  }

  async request(asked: Asked, way: Way): Promise<PeerOutcome> {
    const at = performance.now();
    const end = await this.#startAndAsk(asked, way);
    const outcome = 'denied' in end ? end.answer : end;
    this.#record(asked, end, outcome, performance.now() - at);
    return outcome;
  }

  notify(method: string, params: JsonObject): Promise<void> {
    return this.#options.server.notify(method, params);
  }

  subscribe(filter: PeerFilter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription {
    const { server, tools } = this.#options;
    const hear = (said: ServerNotification): void => {
      if (said.method === 'notifications/tools/list_changed') tools.forget();
      on(said);
    };
    return server.subscribe(filter, hear, onEnd);
  }

  inputSchema(tool: string): object | null {
    return this.#options.tools.find(tool)?.inputSchema ?? null;
  }

  async #startAndAsk(asked: Asked, way: Way): Promise<Answer | Failed | McpRefusal | Denied> {
    const { gate, call } = this.#options;
    const unstarted = this.#started ? null : await gate.starter.start(call, null);
    this.#started = false;
    if (unstarted) return unstarted;
    const outcome = await this.#ask(asked, way);
    // What the end of the run ended is told as that.
    const ended = 'failure' in outcome && outcome.failure === 'stopped' && call.stopped;
    return ended && ended !== 'client_left' ? { refusal: ended } : outcome;
  }

  async #ask(asked: Asked, way: Way): Promise<Answer | Failed | Denied> {
    const { declared, tools } = this.#options;
    const { method, params } = asked;
    if (method !== 'tools/call') {
      const answer = await this.#send(asked, way);
      if (!('result' in answer)) return answer;
      if (method !== 'tools/list') return limitResult(method, answer.result, declared);
      const whole = params['cursor'] === undefined && answer.result['nextCursor'] === undefined;
      return { result: { ...answer.result, tools: await tools.look(answer.result['tools'], whole) } };
    }
    const own = (request: Asked): Promise<Answer | Failed> => this.#send(request, silent(way));
    const judged = await judgeCall({ ...this.#options, ask: own }, asked);
    if (!('headers' in judged)) return judged;
    const answer = await this.#send(asked, { ...way, headers: judged.headers });
    return 'result' in answer ? limitResult(method, answer.result, declared) : answer;
  }

  async #send(asked: Asked, way: Way): Promise<Answer | Failed> {
    const { server } = this.#options;
    const rights = this.#rights;
    const answer = await server.request(restrictAsked(asked, rights, server.era), restrictWay(way, rights));
    return judgeInput(answer, rights) ?? answer;
  }

  #record(
    { method, params }: Asked,
    end: Answer | Failed | McpRefusal | Denied,
    outcome: PeerOutcome,
    ms: number,
  ): void {
    const { gate, call, name: server, tools } = this.#options;
    const named = params['name'];
    const known = typeof named === 'string' && tools.find(named) !== null;
    gate.record.mcpRequest(call, {
      server,
      method: nameMethod(method),
      tool: method === 'tools/call' ? (known ? named : 'undeclared') : null,
      outcome: 'denied' in end ? end.denied : nameOutcome(method, outcome),
      inputBytes: sizeOf(params),
      resultBytes: 'result' in outcome ? sizeOf(outcome.result) : 0,
      ms: Math.round(ms),
    });
  }
}

/** For what the gate asks by itself: nobody hears of it, and it has not been counted as sent. */
function silent({ signal }: Way): Way {
  return {
    signal,
    onProgress: () => {},
    onLog: () => {},
    onRequest: async () => ({ error: { code: -32_601, message: 'Method not found' } }),
  };
}
