/**
 * One session's connection to one server. It begins when something is asked, and begins anew when the server has
 * forgotten it: in silence only while nothing can be missing afterwards, else behind one visible error.
 */
import { randomBytes } from 'node:crypto';
import type { McpUpstreams, UpstreamPlace } from '../../../core-lite/record/mcp-upstreams.ts';
import { type Answer, type JsonObject, RPC } from '../messages.ts';
import { Backoff } from './backoff.ts';
import type { EraMemory } from './era-memory.ts';
import { type Failed, fail } from './failures.ts';
import type { Live } from './live.ts';
import { Opener } from './opener.ts';
import type { FetchOptions } from './pinned-fetch.ts';
import type {
  About,
  Asked,
  ClientFacts,
  Era,
  Filter,
  ServerNotification,
  Subscription,
  UpstreamServer,
  Way,
} from './server.ts';
import { Subscriptions } from './subscriptions.ts';

export interface ConnectionOptions {
  readonly place: UpstreamPlace;
  readonly fetch: FetchOptions;
  readonly transport: 'auto' | 'streamable-http' | 'sse';
  /** The server keeps nothing between calls. */
  readonly stateless: boolean;
  /** Of a whole request. */
  readonly timeoutMs: number;
  readonly records: McpUpstreams;
  readonly memory: EraMemory;
  readonly now: () => Date;
}

export class Connection implements UpstreamServer {
  readonly #options: ConnectionOptions;
  readonly #opener: Opener;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #subscriptions: Subscriptions;
  #live: Live | null = null;
  /** The newest there was: what was said of it holds until there is another. */
  #last: Live | null = null;
  #opening: Promise<Live | Failed> | null = null;
  #running = 0;
  /** What its streams were opened with. */
  #key: string | null = null;

  constructor(options: ConnectionOptions) {
    // Two replicas may share one session of the server's, and their ids must not.
    const prefix = randomBytes(6).toString('hex');
    let ids = 0;
    const nextId = (): string => {
      ids += 1;
      return `${prefix}-${ids}`;
    };
    this.#options = options;
    this.#opener = new Opener({ ...options, nextId });
    this.#backoff = new Backoff(options.now);
    this.#subscriptions = new Subscriptions((client, signal) => this.#open(client, signal));
  }

  get era(): Era {
    return this.#last?.era ?? 'legacy';
  }

  get about(): About {
    return this.#last?.about ?? NOTHING_SAID;
  }

  /** Whether nobody uses it now. */
  get idle(): boolean {
    return this.#running === 0 && this.#opening === null && this.#subscriptions.size === 0;
  }

  /** @returns why it could not begin, or `null` when it has */
  async open(client: ClientFacts, signal: AbortSignal): Promise<Failed | null> {
    const live = await this.#open(client, signal);
    return 'failure' in live ? live : null;
  }

  async request(asked: Asked, way: Way): Promise<Answer | Failed> {
    const limit = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = AbortSignal.any([way.signal, limit, this.#closing.signal]);
    const beforeSend = way.beforeSend ? { beforeSend: askOnce(way.beforeSend) } : {};
    this.#running += 1;
    try {
      const end = await this.#ask(asked, { ...way, ...beforeSend, signal }, true);
      const late = 'failure' in end && end.failure === 'stopped' && limit.aborted && !way.signal.aborted;
      return late ? { ...end, failure: 'timeout' } : end;
    } finally {
      this.#running -= 1;
    }
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#live?.notify(method, params);
  }

  subscribe(
    filter: Filter,
    on: (said: ServerNotification) => void,
    onEnd: () => void = () => {},
  ): Subscription {
    return this.#subscriptions.add({ filter, on, onEnd });
  }

  /** A credential has changed: streams that were opened with one that is no longer used end, and are opened anew. */
  async recheck(): Promise<void> {
    const live = this.#live;
    if (!live) return;
    const key = await this.#opener.key();
    if (key === this.#key) return;
    this.#key = typeof key === 'string' ? key : null;
    live.reopenStreams();
    this.#subscriptions.reopen();
  }

  /** Lets go of what this process holds; the server's session stays, for whoever takes it up again. */
  close(): void {
    this.#closing.abort();
    this.#subscriptions.close();
    this.#live?.close();
    this.#live = null;
  }

  /** Ends the server's session too. Rejects with Fault `database_unreachable`. */
  async end(): Promise<void> {
    const { records, place } = this.#options;
    const live = this.#live ?? (await this.#opener.recorded());
    this.close();
    await records.forget(place);
    await live?.end(AbortSignal.timeout(END_MS));
  }

  async #ask(asked: Asked, way: Way, mayRedo: boolean): Promise<Answer | Failed> {
    const live = await this.#open(asked.meta.client, way.signal);
    if ('failure' in live) return live;
    const changes = asked.method === 'tools/call' && live.keepsState;
    if (changes) await this.#count(live);
    const answer = await live.request(asked, way);
    const forgotten = isForgotten(live, answer);
    if (changes && !forgotten) live.ran = true;
    this.#learn(live, answer);
    if (!mayRedo || !forgotten) return plain(answer);
    return (await this.#forsake(live)) ?? this.#ask(asked, way, false);
  }

  async #open(client: ClientFacts, signal: AbortSignal): Promise<Live | Failed> {
    const { leftMs } = this.#backoff;
    if (leftMs > 0) return fail('backoff', false, `for ${Math.ceil(leftMs / 1000)} s`);
    const live = this.#live;
    if (live && !live.over) return live;
    const lost = live && (await this.#forsake(live));
    if (lost) return lost;
    this.#opening ??= this.#begin(client).finally(() => {
      this.#opening = null;
    });
    return unlessAborted(this.#opening, signal);
  }

  async #begin(client: ClientFacts): Promise<Live | Failed> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(BEGIN_MS)]);
    const live = await this.#opener.open(client, signal);
    if ('failure' in live) {
      if (live.failure === 'unreachable') this.#backoff.failed();
      return live;
    }
    if (this.#closing.signal.aborted) {
      live.close();
      return fail('stopped', false);
    }
    const key = await this.#opener.key();
    this.#key = typeof key === 'string' ? key : null;
    this.#live = live;
    this.#last = live;
    this.#subscriptions.attach(live);
    return live;
  }

  /** A call that may change what the server holds is known of before it is sent. */
  async #count(live: Live): Promise<void> {
    if (live.counted || live.link.kind === 'sse') return;
    const { records, place } = this.#options;
    live.counted = true;
    await records.touch(place, live.generation);
  }

  #learn(live: Live, answer: Answer | Failed): void {
    const failure = 'failure' in answer ? answer.failure : null;
    if (failure === 'unreachable') this.#backoff.failed();
    else this.#backoff.reached();
    // Whoever asked has seen it.
    if (failure === 'lost' && live.link.kind === 'sse') live.ran = false;
  }

  /** @returns what its caller is told, or `null` where it may begin anew in silence */
  #forsake(live: Live): Promise<Failed | null> {
    live.loss ??= this.#decideLoss(live);
    return live.loss;
  }

  async #decideLoss(live: Live): Promise<Failed | null> {
    const { records, place, stateless } = this.#options;
    if (this.#live === live) this.#live = null;
    live.close();
    const told = stateless ? null : fail('session_lost', false);
    if (live.link.kind === 'sse') return live.ran ? told : null;
    if (live.era === 'modern') await this.#opener.doubt();
    const record = await records.load(place);
    // Another began anew, and told whoever had to be told.
    if (record?.generation !== live.generation || record.link === null) return null;
    await records.unlink(place, live.generation);
    return live.ran || record.touched > (live.counted ? 1 : 0) ? told : null;
  }
}

/** The server does not know what it was asked under; so it did nothing of what was asked. */
function isForgotten({ link, era }: Live, answer: Answer | Failed): boolean {
  if ('error' in answer) return era === 'modern' && answer.error.code === RPC.unsupportedVersion;
  if (!('failure' in answer) || !answer.http) return false;
  const { status, error } = answer.http;
  // Not the specification's 404, but what many servers answer, as an early example of the SDK does.
  const unknown = status === 400 && (error === null || error.code === NO_SUCH_SESSION);
  if (era === 'modern') return unknown || error?.code === RPC.unsupportedVersion;
  if (link.kind === 'sse') return status === 404 || status === 400;
  return link.sessionId !== null && (status === 404 || (unknown && error !== null));
}

/** An error in the body of an HTTP error is the server's answer. */
function plain(answer: Answer | Failed): Answer | Failed {
  return 'failure' in answer && answer.http?.error ? { error: answer.http.error } : answer;
}

function askOnce(ask: () => Promise<boolean>): () => Promise<boolean> {
  let asked: Promise<boolean> | null = null;
  return () => {
    asked ??= ask();
    return asked;
  };
}

async function unlessAborted(opening: Promise<Live | Failed>, signal: AbortSignal): Promise<Live | Failed> {
  const { promise, resolve } = Promise.withResolvers<Failed>();
  const onAbort = (): void => resolve(fail('stopped', false));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([opening, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const NOTHING_SAID: About = { protocolVersion: '', capabilities: {}, serverInfo: {}, instructions: null };
const NO_SUCH_SESSION = -32_000;
const BEGIN_MS = 30_000;
const END_MS = 5_000;
