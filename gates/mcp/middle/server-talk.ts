/**
 * What is said to one declared server and heard of it: it shows the tools that the manifest lets it, judges a call before
 * a byte of it leaves, and tells the server no more of the client than it may know. Who may ask is decided before it.
 */
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import type { Answer } from '../messages.ts';
import type { Denied } from '../see/denials.ts';
import { limitResult } from '../see/result-limit.ts';
import type { ServerTools } from '../see/server-tools.ts';
import type { Failed } from '../upstream/failures.ts';
import type {
  About,
  Asked,
  ServerNotification,
  Subscription,
  UpstreamServer,
  Way,
} from '../upstream/server.ts';
import type { PeerFilter } from '../way.ts';
import { judgeInput, mostOf, type Rights, restrictAsked, restrictWay } from './client-rights.ts';
import { type ArgumentJudge, judgeCall, readTools } from './tool-call.ts';

export interface TalkOptions {
  /** As the manifest names it. */
  readonly name: string;
  readonly declared: McpServer;
  readonly server: UpstreamServer;
  readonly tools: ServerTools;
  readonly schemas: ArgumentJudge;
}

/** What comes of asking. */
export type Said = Answer | Failed | Denied;

export class ServerTalk {
  readonly name: string;
  readonly tools: ServerTools;
  readonly #options: TalkOptions;
  readonly #rights: Rights;

  constructor(options: TalkOptions) {
    this.name = options.name;
    this.tools = options.tools;
    this.#options = options;
    this.#rights = mostOf(options.declared.allow);
  }

  get about(): About {
    return this.#options.server.about;
  }

  /** Rejects with Fault `database_unreachable`. */
  async ask(asked: Asked, way: Way): Promise<Said> {
    const { declared, tools } = this.#options;
    const { method, params } = asked;
    if (method === 'tools/call') return this.#call(asked, way);
    const answer = await this.#send(asked, way);
    if (!('result' in answer)) return answer;
    if (method !== 'tools/list') return limitResult(method, answer.result, declared);
    const whole = params['cursor'] === undefined && answer.result['nextCursor'] === undefined;
    return { result: { ...answer.result, tools: await tools.look(answer.result['tools'], whole) } };
  }

  /** All tools that are shown, of whatever number of pages. Rejects with Fault `database_unreachable`. */
  listTools(asked: Asked, way: Way): Promise<Awaited<ReturnType<typeof readTools>>> {
    return readTools(this.#judge(way), asked);
  }

  notify(method: string, params: Asked['params']): Promise<void> {
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
    return this.tools.find(tool)?.inputSchema ?? null;
  }

  async #call(asked: Asked, way: Way): Promise<Said> {
    const { declared } = this.#options;
    const judged = await judgeCall(this.#judge(way), asked);
    if (!('headers' in judged)) return judged;
    const answer = await this.#send(asked, { ...way, headers: judged.headers });
    return 'result' in answer ? limitResult('tools/call', answer.result, declared) : answer;
  }

  #judge(way: Way) {
    return { ...this.#options, ask: (own: Asked) => this.#send(own, silent(way)) };
  }

  async #send(asked: Asked, way: Way): Promise<Answer | Failed> {
    const { server } = this.#options;
    const rights = this.#rights;
    const answer = await server.request(restrictAsked(asked, rights, server.era), restrictWay(way, rights));
    return judgeInput(answer, rights) ?? answer;
  }
}

/** For what the gate asks by itself: nobody hears of it, and it is not what is counted as sent. */
function silent({ signal }: Way): Way {
  return {
    signal,
    onProgress: () => {},
    onLog: () => {},
    onRequest: async () => ({ error: { code: -32_601, message: 'Method not found' } }),
  };
}
