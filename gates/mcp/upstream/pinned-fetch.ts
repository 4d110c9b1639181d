/**
 * The `fetch` that the SDK's transports are given: over the gate's pools, which dial judged addresses only, with the
 * credentials of the moment. It follows no redirect, sends nothing of the caller's, and tells a trace why it failed.
 */
import type { Dispatcher, Pool } from 'undici';
import { VERSION } from '../../../core-lite/version.ts';
import { headerNames, type PutOn, putOn } from '../../act/credential.ts';
import { contentCoding, headerValue } from '../../act/headers.ts';
import type { Unreachable, Upstreams } from '../../act/upstream.ts';
import { codingOf } from '../../codings.ts';
import { AnswerBody } from './answer-body.ts';
import type { UpstreamFailure } from './failures.ts';
import type { FindReach, Reach } from './server.ts';
import { FetchFailure, type Trace } from './trace.ts';

export interface FetchOptions {
  readonly upstreams: Upstreams;
  /** Whose requests these are. */
  readonly session: string;
  readonly find: FindReach;
  /** What the transport takes for the server's URL. */
  readonly base: URL;
  /** Of one message of an answer. */
  readonly maxBytes: number;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * @param trace learns what becomes of all that is fetched with it
 * @param beforeSend asked once, before anything is written; `false`: nothing is
 */
export function pinFetch(
  options: FetchOptions,
  trace: Trace,
  beforeSend: () => Promise<boolean> = MAY_SEND,
): Fetch {
  let may: Promise<boolean> | null = null;
  return async (url, init = {}) => {
    const signal = init.signal ?? NEVER;
    const found = await options.find();
    signal.throwIfAborted();
    if ('failure' in found) throw trace.adopt(found);
    const held = putOnAll(found);
    if (!held) throw trace.fail('credential', 'two credentials set the same header');
    const pool = await options.upstreams.reach(found.proof, found.url, nameCredentials(found), signal);
    if (typeof pool === 'string') throw trace.fail(UNREACHED[pool]);
    may ??= beforeSend();
    if (!(await may)) throw trace.fail('stopped');
    return ask({
      pool,
      path: pathOf(found, options.base, url),
      init,
      held,
      options,
      trace,
      signal,
      reach: found,
    });
  };
}

interface Asking {
  readonly pool: Pool;
  readonly path: string;
  readonly init: RequestInit;
  readonly held: PutOn;
  readonly options: FetchOptions;
  readonly trace: Trace;
  readonly signal: AbortSignal;
  readonly reach: Reach;
}

function ask(asking: Asking): Promise<Response> {
  const { pool, path, init, held, signal } = asking;
  return new Promise((resolve, reject) => {
    const answer = new AnswerHandler(asking, resolve, reject);
    const onAbort = (): void => {
      reject(signal.reason);
      answer.abort();
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    answer.onOver = () => signal.removeEventListener('abort', onAbort);
    const headers = [...requestLines(init.headers), ...held.headers];
    try {
      pool.dispatch({ method: methodOf(init), path, headers, body: bodyOf(init) }, answer);
    } catch {
      reject(asking.trace.fail('refused'));
    }
  });
}

class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #asking: Asking;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (error: unknown) => void;
  /** When nothing more comes. */
  onOver: () => void = () => {};
  #flow: Dispatcher.DispatchController | null = null;
  #body: AnswerBody | null = null;
  #aborted = false;

  constructor(asking: Asking, resolve: (response: Response) => void, reject: (error: unknown) => void) {
    this.#asking = asking;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  abort(): void {
    this.#aborted = true;
    this.#flow?.abort(new FetchFailure());
  }

  onRequestStart(flow: Dispatcher.DispatchController): void {
    this.#flow = flow;
    if (this.#aborted) flow.abort(new FetchFailure());
    // What a GET asks for changes nothing.
    else if (this.#asking.init.method !== 'GET') this.#asking.trace.started = true;
  }

  onResponseStart(flow: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.#aborted) return;
    const { trace, options, held, init } = this.#asking;
    const raw = (Array.isArray(flow.rawHeaders) ? flow.rawHeaders : []).map(String);
    trace.status = status;
    const refused = refuseHead(status, raw, this.#asking.reach);
    if (refused) {
      const [failure, detail, ran] = refused;
      // What a stream that is taken up again answers says nothing of the request behind it.
      this.#give(trace.fail(failure, detail, ran || (init.method === 'GET' && trace.started)));
      return;
    }
    const events = headerValue(raw, 'content-type').startsWith('text/event-stream');
    if (events && status < 300) trace.streams = true;
    const { secrets } = held;
    const maxBytes = status < 300 ? options.maxBytes : MAX_ERROR_BYTES;
    const coding = codingOf(contentCoding(raw));
    this.#body = new AnswerBody(flow, { session: options.session, coding, events, secrets, maxBytes, trace });
    const bare = NO_BODY.has(status);
    this.#resolve(new Response(bare ? null : this.#body.stream, { status, headers: keptHeaders(raw) }));
  }

  onResponseData(_flow: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.onOver();
    this.#body?.end();
  }

  onResponseError(): void {
    this.onOver();
    const { trace } = this.#asking;
    // What broke off behind its first byte is no verdict: a stream may be taken up again.
    if (!this.#aborted && !this.#body && !trace.started) trace.fail('unreachable');
    this.#body?.break();
    this.#reject(new FetchFailure());
  }

  #give(failure: FetchFailure): void {
    this.#reject(failure);
    this.abort();
  }
}

/** Why a head is no answer: what the server did with the request is plain then, and it was nothing. */
function refuseHead(
  status: number,
  raw: readonly string[],
  { credentials }: Reach,
): [UpstreamFailure, string | null, boolean] | null {
  if (status >= 300 && status < 400) return ['redirected', null, false];
  if (status > MAX_STATUS) return ['malformed', 'its status is none', true];
  if (status === 401) {
    const names = credentials.map(({ name }) => name).join(', ');
    return ['credential_rejected', names === '' ? 'none is declared' : names, false];
  }
  const coding = contentCoding(raw);
  if (coding !== '' && codingOf(coding) === null) return ['malformed', 'its coding is unknown', true];
  return null;
}

/** All that both set, or `null` where one would overwrite the other. */
function putOnAll({ proof, credentials }: Reach): PutOn | null {
  const all = credentials.map(({ credential }) => putOn(proof, credential, null));
  const names = all.flatMap((each) => headerNames(each).map((name) => name.toLowerCase()));
  if (new Set(names).size < names.length) return null;
  return { headers: all.flatMap(({ headers }) => headers), secrets: all.flatMap(({ secrets }) => secrets) };
}

/** What a connection is kept for: these versions of these credentials. */
function nameCredentials({ credentials }: Reach): { readonly id: string; readonly version: number } | null {
  const [first, ...others] = credentials.map(({ credential }) => credential);
  if (!first) return null;
  const id = [first.id, ...others.map((other) => `${other.id}@${other.version}`)].join(' ');
  return { id, version: first.version };
}

/** The server's own, as it was written; another only where a server of the old transport named one, and never another host. */
function pathOf({ url }: Reach, base: URL, asked: string | URL): string {
  const { href, pathname, search } = new URL(asked);
  return href === base.href ? (url.path || '/') + url.query : pathname + search;
}

function requestLines(init: RequestInit['headers']): string[] {
  const lines = [...new Headers(init).entries()].filter(([name]) => SENT.test(name)).flat();
  return [...lines, 'accept-encoding', 'gzip, br', 'user-agent', `sallyport/${VERSION}`];
}

/** What the transport reads of a head. */
function keptHeaders(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, i) => {
    const kept = i % 2 === 0 && KEPT.has(name.toLowerCase());
    return kept ? [[name, raw[i + 1] ?? ''] as [string, string]] : [];
  });
}

function methodOf({ method }: RequestInit): Dispatcher.HttpMethod {
  if (method === 'POST' || method === 'DELETE') return method;
  return 'GET';
}

function bodyOf({ body }: RequestInit): string | null {
  return typeof body === 'string' ? body : null;
}

const UNREACHED: Readonly<Record<Unreachable, UpstreamFailure>> = {
  resolve_failed: 'unreachable',
  address_refused: 'refused',
  plaintext_refused: 'refused',
};
const MAY_SEND = (): Promise<boolean> => Promise.resolve(true);
const NEVER = new AbortController().signal;
/** RFC 9110: these have no body, and `Response` takes none. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const SENT = /^(?:accept|content-type|last-event-id|mcp-.+)$/;
const KEPT: ReadonlySet<string> = new Set(['content-type', 'mcp-session-id']);
const MAX_STATUS = 599;
const MAX_ERROR_BYTES = 64 * 1024;
