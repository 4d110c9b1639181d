/** A connection that has begun: requests go out under ids of their own, and what comes beside the answers finds its way. */
import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/client';
import { type Answer, isJsonObject, type JsonObject, type RequestId, type RpcMessage } from '../messages.ts';
import { formRequest, ownAsking } from './envelope.ts';
import type { Failed } from './failures.ts';
import { Incoming } from './incoming.ts';
import { declares, type LinkRecord } from './link-record.ts';
import { keepParamHeaders } from './param-headers.ts';
import type { About, Asked, ClientFacts, Era, Filter, ServerNotification, Way } from './server.ts';
import type { Listening, Wire } from './wire.ts';

export interface LiveOptions {
  readonly link: LinkRecord;
  readonly about: About;
  readonly wire: Wire;
  readonly generation: number;
  readonly nextId: () => RequestId;
}

export class Live {
  readonly link: LinkRecord;
  readonly about: About;
  readonly generation: number;
  /** It is counted among those that call what may change what the server holds. */
  counted = false;
  /** Such a call was not refused for want of a session. */
  ran = false;
  /** What became of it when the server had forgotten it: decided once, for all that were asked under it. */
  loss: Promise<Failed | null> | null = null;
  #closed = false;
  readonly #resources = new Map<string, number>();
  readonly incoming: Incoming;
  readonly #wire: Wire;
  readonly #nextId: () => RequestId;
  #listening: Listening | null = null;
  #logLevel: string | null = null;

  constructor({ link, about, wire, generation, nextId }: LiveOptions) {
    this.link = link;
    this.about = about;
    this.generation = generation;
    this.#wire = wire;
    this.#nextId = nextId;
    this.incoming = new Incoming((answer) => void wire.tell(answer, AbortSignal.timeout(TELL_MS)));
    this.#openStreams();
  }

  /** Its session has ended. */
  get over(): boolean {
    return this.#closed || this.#wire.over;
  }

  get era(): Era {
    return this.link.kind === 'modern' ? 'modern' : 'legacy';
  }

  /** Whether a new session would be another one to the server. */
  get keepsState(): boolean {
    return this.link.kind === 'sse' || this.link.sessionId !== null;
  }

  async request(asked: Asked, way: Way): Promise<Answer | Failed> {
    await this.#setLevel(asked, way.signal);
    const id = this.#nextId();
    const { signal, headers, beforeSend } = way;
    const request = formRequest(id, asked, this.#version);
    this.incoming.begin(id, way);
    try {
      const answer = await this.#wire.ask(request, {
        signal,
        ...(headers && this.era === 'modern' ? { headers: keepParamHeaders(headers) } : {}),
        ...(beforeSend ? { beforeSend } : {}),
        onMessage: (said) => this.incoming.take(said, id),
      });
      if ('failure' in answer && answer.failure === 'stopped' && answer.mayHaveRun) this.#cancel(id);
      return answer;
    } finally {
      this.incoming.end(id);
    }
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#wire.tell({ jsonrpc: '2.0', method, params }, AbortSignal.timeout(TELL_MS));
  }

  /** A modern server's stream of what is listened for. Resolves when it has ended. */
  async listen(
    { unasked: _ours, ...filter }: Filter,
    client: ClientFacts,
    on: (said: ServerNotification) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const asked = ownAsking('subscriptions/listen', { notifications: filter }, client);
    const request = formRequest(this.#nextId(), asked, this.#version);
    await this.#wire.ask(request, { signal, onMessage: (said) => hear(said, on) });
  }

  /** What a request of our own answers; `null` where it has no result. */
  async ask(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject | null> {
    const request = formRequest(this.#nextId(), ownAsking(method, params, NOBODY), this.#version);
    const answer = await this.#wire.ask(request, { signal, onMessage: () => {} });
    return 'result' in answer ? answer.result : null;
  }

  /** Tells a legacy server that somebody wants to hear of a resource; once, however many do. */
  async holdResource(uri: string, signal: AbortSignal): Promise<void> {
    const held = this.#resources.get(uri) ?? 0;
    this.#resources.set(uri, held + 1);
    if (held === 0) await this.ask('resources/subscribe', { uri }, signal);
  }

  dropResource(uri: string): void {
    const held = this.#resources.get(uri) ?? 0;
    this.#resources.set(uri, held - 1);
    if (held !== 1 || this.over) return;
    this.#resources.delete(uri);
    void this.ask('resources/unsubscribe', { uri }, AbortSignal.timeout(TELL_MS));
  }

  /** What was opened with credentials that are not used any more; the old transport's stream is the session itself. */
  reopenStreams(): void {
    this.#listening?.close();
    if (this.link.kind === 'sse') this.#wire.close();
    else this.#openStreams();
  }

  close(): void {
    this.#closed = true;
    this.incoming.close();
    this.#listening?.close();
    this.#wire.close();
  }

  /** Closes it, and tells the server so. */
  async end(signal: AbortSignal): Promise<void> {
    this.#closed = true;
    this.incoming.close();
    this.#listening?.close();
    await this.#wire.end(signal);
  }

  #openStreams(): void {
    if (this.era === 'modern') return;
    this.#listening = this.#wire.listen((said) => this.incoming.take(said, null));
  }

  get #version(): string | null {
    return this.era === 'modern' ? this.link.protocolVersion : null;
  }

  /** A legacy server logs by its session's level, a modern one by each request's. */
  async #setLevel({ method, params, meta }: Asked, signal: AbortSignal): Promise<void> {
    if (this.era === 'modern' || !declares(this.about.capabilities, 'logging')) return;
    if (method === 'logging/setLevel') this.#logLevel = String(params['level']);
    if (method === 'logging/setLevel' || meta.logLevel === null || meta.logLevel === this.#logLevel) return;
    this.#logLevel = meta.logLevel;
    await this.ask('logging/setLevel', { level: meta.logLevel }, signal);
  }

  /** A modern server knows it from the stream that was closed. */
  #cancel(id: RequestId): void {
    if (this.era === 'modern') return;
    void this.notify('notifications/cancelled', { requestId: id, reason: 'the caller gave it up' });
  }
}

/** Without the mark of the subscription, which is ours and not our caller's. */
function hear(said: RpcMessage, on: (said: ServerNotification) => void): void {
  if (!('method' in said) || 'id' in said || said.method === 'notifications/subscriptions/acknowledged')
    return;
  const { _meta, ...params } = said.params ?? {};
  const { [SUBSCRIPTION_ID_META_KEY]: _mark, ...meta } = isJsonObject(_meta) ? _meta : {};
  on({ method: said.method, params: Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params });
}

const NOBODY: ClientFacts = { info: null, capabilities: {} };
const TELL_MS = 10_000;
