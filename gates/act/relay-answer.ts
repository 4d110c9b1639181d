/**
 * Passes a provider's answer on as it comes: status, headers and bytes, each chunk at once, with backpressure both
 * ways. It masks the secret and meters a copy; nothing is encoded anew. A caller that leaves ends the provider's call;
 * a provider that dies in the middle never looks like a whole answer.
 */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { formatErrorEvent } from '../answer.ts';
import { Meter } from '../meter.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';
import { EventGuard } from './event-guard.ts';
import { headerValue, responseHeaders } from './headers.ts';
import { maskHeaders, SecretMask } from './mask.ts';

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly dialect: Dialect;
  readonly secrets: readonly Buffer[];
  /** Aborted when the call must end; `stopped` says why. */
  readonly signal: AbortSignal;
  readonly stopped: () => StopReason | null;
  /** How long a call that is no stream may take in all, milliseconds. */
  readonly wholeLimitMs: number;
  /** How long a stream may say nothing, milliseconds. */
  readonly idleLimitMs: number;
  readonly now: () => number;
}

/** How the provider's side ended. Before its head went out the caller can still be answered. */
export interface RelayEnd {
  /** `null` when the answer was whole. */
  readonly failure: RefusalReason | StopReason | 'provider_died' | null;
  /** What the caller got; `null` where nothing went out. */
  readonly status: number | null;
  /** On the clock of `now`. */
  readonly firstByteAt: number | null;
  readonly meter: Meter | null;
  /** Whether the end of the answer was told by more than the end of its connection. */
  readonly framed: boolean;
}

/** A handler for one `dispatch`. Its `ended` never rejects. */
export class AnswerRelay implements Dispatcher.DispatchHandler {
  readonly ended: Promise<RelayEnd>;
  readonly #options: RelayOptions;
  readonly #mask: SecretMask;
  readonly #onAbort = () => this.#fail(this.#options.stopped() ?? 'client_left');
  readonly #onDrain = () => this.#controller?.resume();
  readonly #onTick = () => this.#passWaiting();
  #waiting: Buffer[] = [];
  #settle: (end: RelayEnd) => void = () => {};
  #controller: Dispatcher.DispatchController | null = null;
  #guard: EventGuard | null = null;
  #meter: Meter | null = null;
  #status: number | null = null;
  #plainEvents = false;
  #framed = false;
  #hasLength = false;
  #firstByteAt: number | null = null;
  #lastBytes: Buffer = Buffer.alloc(0);
  #done = false;
  #limit: NodeJS.Timeout;
  #streaming = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#mask = new SecretMask(options.secrets);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#limit = setTimeout(() => this.#fail('provider_timeout'), options.wholeLimitMs);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    options.response.on('drain', this.#onDrain);
    if (options.signal.aborted) this.#onAbort();
  }

  /** What `dispatch` itself threw. */
  refuse(error: unknown): void {
    this.#fail(readFailure(error));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#done) controller.abort(LEFT);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusText = '',
  ): void {
    if (this.#done || status < 200) return;
    // A client would follow it with its credential, or with what it takes for one.
    if (status >= 300 && status < 400 && status !== 304) {
      this.#fail('redirect_refused');
      return;
    }
    const raw = rawTexts(controller);
    const contentType = headerValue(raw, 'content-type');
    const encoding = headerValue(raw, 'content-encoding');
    const events = contentType.startsWith('text/event-stream');
    this.#plainEvents = events && (encoding === '' || encoding === 'identity');
    this.#hasLength = headerValue(raw, 'content-length') !== '';
    this.#framed = this.#hasLength || headerValue(raw, 'transfer-encoding') !== '';
    this.#meter = new Meter(this.#options.dialect, contentType, encoding);
    if (this.#plainEvents) this.#guard = new EventGuard();
    this.#streaming = events;
    if (events) this.#rearm();
    this.#writeHead(status, statusText, responseHeaders(raw));
  }

  /** Chunks that came with one read are one step: a flood of small events costs a write for each read, not for each. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    if (this.#waiting.push(chunk) === 1) process.nextTick(this.#onTick);
  }

  onResponseEnd(): void {
    this.#passWaiting();
    if (this.#done) return;
    const held = this.#mask.end();
    if (held.length > 0) this.#write(this.#guard?.write(held) ?? held);
    const rest = this.#guard?.end();
    if (rest) this.#write(rest);
    this.#finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#passWaiting();
    this.#fail(this.#status === null ? readFailure(error) : 'provider_died');
  }

  /** Ends a stream whose connection alone told of its end, where its events did not. */
  cutShort(): void {
    this.#endAnswer('provider_died');
  }

  /** Ends an answer that was whole. */
  complete(): void {
    this.#options.response.end();
  }

  #passWaiting(): void {
    const chunks = this.#waiting;
    if (chunks.length === 0 || this.#done) return;
    this.#waiting = [];
    const data = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    if (!data) return;
    this.#firstByteAt ??= this.#options.now();
    this.#meter?.see(data);
    const masked = this.#mask.write(data);
    const passed = this.#guard ? this.#guard.write(masked) : masked;
    if (!passed) {
      this.#fail('provider_died');
      return;
    }
    if (this.#streaming) this.#limit.refresh();
    if (!this.#write(passed)) this.#controller?.pause();
  }

  #writeHead(status: number, statusText: string, headers: readonly string[]): void {
    const { response, secrets } = this.#options;
    this.#status = status;
    response.sendDate = false;
    const [phrase = '', ...masked] = maskHeaders([statusText, ...headers], secrets);
    response.writeHead(status, phrase, masked);
    // A stream's head leaves at once; any other goes with its first bytes, in one write.
    if (this.#streaming) response.flushHeaders();
  }

  #write(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    this.#lastBytes =
      bytes.length >= 4 ? bytes.subarray(-4) : Buffer.concat([this.#lastBytes, bytes]).subarray(-4);
    return this.#options.response.write(bytes);
  }

  #rearm(): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => this.#fail('provider_timeout'), this.#options.idleLimitMs);
  }

  #fail(reason: RelayEnd['failure']): void {
    if (this.#done || reason === null) return;
    this.#waiting = [];
    this.#finish(reason);
    this.#controller?.abort(LEFT);
    if (this.#status !== null) this.#endAnswer(reason);
  }

  #finish(failure: RelayEnd['failure']): void {
    this.#done = true;
    clearTimeout(this.#limit);
    const { signal, response } = this.#options;
    signal.removeEventListener('abort', this.#onAbort);
    response.off('drain', this.#onDrain);
    this.#settle({
      failure,
      status: this.#status,
      firstByteAt: this.#firstByteAt,
      meter: this.#meter,
      framed: this.#framed || !this.#plainEvents,
    });
  }

  /** An answer that went out in part ends so that no client takes it for whole. */
  #endAnswer(reason: RelayEnd['failure']): void {
    const { response, dialect } = this.#options;
    const event = EVENT_REASONS.find((each) => each === reason);
    if (response.destroyed || reason === 'client_left') return;
    // Only an event stream without a length has room for one more event.
    if (!this.#plainEvents || !event || this.#hasLength) {
      response.destroy();
      return;
    }
    response.end(this.#gap(dialect) + formatErrorEvent(dialect, event));
  }

  /** What stands between a broken event and the error event. Anthropic's overrules the name of the broken one. */
  #gap(dialect: Dialect): string {
    const last = this.#lastBytes.toString('latin1');
    if (last === '' || last.endsWith('\n\n') || last.endsWith('\r\n\r\n')) return '';
    if (dialect === 'openai') return '\n\n';
    return last.endsWith('\n') ? '' : '\n';
  }
}

/** undici's parser gives the raw lines as buffers, in turns. */
function rawTexts({ rawHeaders }: Dispatcher.DispatchController): string[] {
  if (!Array.isArray(rawHeaders)) return [];
  return rawHeaders.map((text: Buffer | string) =>
    typeof text === 'string' ? text : text.toString('latin1'),
  );
}

/** Why there was no answer, from undici's and Node's codes; their texts may hold anything. */
function readFailure(error: unknown): 'connect_failed' | 'provider_certificate' | 'provider_failed' {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  if (CERTIFICATE_CODES.test(code)) return 'provider_certificate';
  return CONNECT_CODES.test(code) ? 'connect_failed' : 'provider_failed';
}

const EVENT_REASONS = [
  'provider_died',
  'provider_timeout',
  'run_stale',
  'token_untrusted',
  'facts_unavailable',
  'shutting_down',
] as const;
const LEFT = new Error('the call has ended');
/** OpenSSL's verification codes as Node names them, and Node's own for a name that does not match. */
const CERTIFICATE_CODES =
  /^(CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_CERT|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_)/;
const CONNECT_CODES =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_|EPROTO)/;
