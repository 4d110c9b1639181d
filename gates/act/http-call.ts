/**
 * Stage 6 of a tool call: one HTTP request with the vault's credential, its answer read whole within limits. Input is
 * data: it becomes a query or a JSON body and never any other part of the request.
 */
import type { Dispatcher, Pool } from 'undici';
import type { Allow } from '../../core-lite/decision.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../../core-lite/state/manifest/http-tool.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import { VERSION } from '../../core-lite/version.ts';
import type { HttpOutcome } from '../http-outcomes.ts';
import { isTooDeep } from '../json-depth.ts';
import { putOn } from './credential.ts';
import { contentCoding, headerValue } from './headers.ts';
import { maskSecrets } from './mask.ts';
import type { Upstreams } from './upstream.ts';

export interface ToolRequest {
  readonly tool: HttpTool;
  readonly url: UpstreamUrl;
  readonly credential: GateCredential | null;
  readonly input: Readonly<Record<string, unknown>>;
}

export type ToolAnswer = { readonly output: unknown } | ToolFailure;

interface ToolFailure {
  readonly failure: HttpOutcome;
  /** What may be added to the outcome's text; nothing of the answer's. */
  readonly detail?: string;
  /** http.status: what the tool said, so that its caller can mend the input. */
  readonly status?: number;
  readonly output?: unknown;
}

/** Never rejects but for faults of our own. @param signal ends it as `http.stopped` */
export async function callTool(
  proof: Allow<string>,
  upstreams: Upstreams,
  { tool, url, credential, input }: ToolRequest,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const limit = AbortSignal.timeout(tool.timeoutMs);
  const either = AbortSignal.any([signal, limit]);
  try {
    const pool = await upstreams.reach(proof, url, credential, either);
    if (typeof pool === 'string')
      return { failure: pool === 'resolve_failed' ? 'http.unreachable' : 'http.refused' };
    const { headers, secrets } = putOn(proof, credential, null);
    const answer = await exchange(pool, formRequest(tool, url, input, headers), either);
    return 'failure' in answer ? answer : readAnswer(answer, secrets);
  } catch (error) {
    if (signal.aborted) return { failure: 'http.stopped' };
    if (limit.aborted) return { failure: 'http.timeout' };
    throw error;
  }
}

interface Collected {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

function formRequest(
  { method }: HttpTool,
  url: UpstreamUrl,
  input: Readonly<Record<string, unknown>>,
  credential: readonly string[],
): Dispatcher.DispatchOptions {
  const common = [
    'accept',
    'application/json, text/*;q=0.9',
    'user-agent',
    `sallyport/${VERSION}`,
    ...credential,
  ];
  const path = url.path || '/';
  if (method === 'GET') return { method, path: path + joinQuery(url.query, input), headers: common };
  const headers = [...common, 'content-type', 'application/json'];
  return { method, path: path + url.query, headers, body: JSON.stringify(input) };
}

/** Each field once; what is no text goes as JSON, so that there is one spelling for each value. */
function joinQuery(query: string, input: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(input).map(
    ([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as [string, string],
  );
  const added = new URLSearchParams(fields).toString();
  if (added === '') return query;
  return query === '' || query === '?' ? `?${added}` : `${query}&${added}`;
}

/** One request and its whole answer. Rejects with the reason of `signal` when that is aborted first. */
function exchange(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Collected | ToolFailure> {
  return new Promise((resolve, reject) => {
    const collector = new Collector(resolve);
    const onAbort = (): void => {
      // First: what the abort itself tells the collector is no outcome.
      reject(signal.reason);
      collector.abort();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) return onAbort();
    try {
      pool.dispatch(request, collector);
    } catch {
      resolve({ failure: 'http.refused' });
    }
  });
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #settle: (end: Collected | ToolFailure) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #aborted = false;
  #bytes = 0;
  #status = 0;
  #contentType = '';

  constructor(settle: (end: Collected | ToolFailure) => void) {
    this.#settle = settle;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort(ENDED);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(ENDED);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    const raw = (Array.isArray(controller.rawHeaders) ? controller.rawHeaders : []).map(String);
    this.#status = status;
    this.#contentType = headerValue(raw, 'content-type');
    const encoding = contentCoding(raw);
    if (status >= 300 && status < 400)
      this.#fail('http.refused', 'it answered with a redirect, which is not followed');
    // None was asked for, and a small body may hold an endless one.
    else if (encoding !== '' && encoding !== 'identity')
      this.#fail('http.invalid-response', 'it is compressed');
    else if (Number(headerValue(raw, 'content-length')) > MAX_ANSWER_BYTES) this.#fail('http.too-large');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#aborted) return;
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_ANSWER_BYTES) this.#fail('http.too-large');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#settle({ status: this.#status, contentType: this.#contentType, body: Buffer.concat(this.#chunks) });
  }

  onResponseError(): void {
    this.#settle({ failure: 'http.unreachable' });
  }

  #fail(failure: HttpOutcome, detail?: string): void {
    this.#settle({ failure, ...(detail ? { detail } : {}) });
    this.abort();
  }
}

function readAnswer({ status, contentType, body }: Collected, secrets: readonly Buffer[]): ToolAnswer {
  const read = readBody(contentType, maskSecrets(body, secrets));
  if (status < 400) return read;
  const said = 'output' in read ? { output: read.output } : {};
  return { failure: 'http.status', detail: `status ${status}`, status, ...said };
}

function readBody(contentType: string, body: Buffer): ToolAnswer {
  if (body.length === 0) return { output: null };
  const text = decode(body);
  if (text === null) return { failure: 'http.invalid-response', detail: 'it is not UTF-8' };
  if (!JSON_TYPE.test(contentType)) {
    return TEXT_TYPE.test(contentType) ? { output: text } : { failure: 'http.invalid-response' };
  }
  if (isTooDeep(text)) return { failure: 'http.invalid-response', detail: 'it is nested too deep' };
  try {
    return { output: JSON.parse(text) };
  } catch {
    return { failure: 'http.invalid-response', detail: 'it says it is JSON and is not' };
  }
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const ENDED = new Error('the call has ended');
const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json(?:\s*;|$)/;
const TEXT_TYPE = /^text\//;
const MAX_ANSWER_BYTES = 1024 * 1024;
