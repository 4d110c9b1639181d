/** One declared server as a call of the session talks to it: each request is started at the fence, and recorded. */
import type { Call } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { JsonObject } from '../messages.ts';
import type { Asked, ServerNotification, Subscription, Way } from '../upstream/server.ts';
import type { McpPeer, PeerAbout, PeerFilter, PeerOutcome } from '../way.ts';
import { recordRequest } from './record-request.ts';
import type { ServerTalk } from './server-talk.ts';
import { type Started, startAndAsk } from './start-and-ask.ts';

export class ServerPeer implements McpPeer {
  readonly #gate: Pick<Gate, 'starter' | 'record'>;
  readonly #call: Call;
  readonly #talk: ServerTalk;
  /** The start that opened it stands for the next request. */
  readonly #started: Started = { now: true };

  constructor(gate: Pick<Gate, 'starter' | 'record'>, call: Call, talk: ServerTalk) {
    this.#gate = gate;
    this.#call = call;
    this.#talk = talk;
  }

  get about(): PeerAbout {
    return this.#talk.about;
  }

  async request(asked: Asked, way: Way): Promise<PeerOutcome> {
    const at = performance.now();
    const end = await startAndAsk(this.#gate, this.#call, this.#started, () => this.#talk.ask(asked, way));
    recordRequest(this.#gate, this.#call, this.#talk, { asked, end, at });
    return 'denied' in end ? end.answer : end;
  }

  notify(method: string, params: JsonObject): Promise<void> {
    return this.#talk.notify(method, params);
  }

  subscribe(filter: PeerFilter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription {
    return this.#talk.subscribe(filter, on, onEnd);
  }

  inputSchema(tool: string): object | null {
    return this.#talk.inputSchema(tool);
  }
}
