/**
 * Passes a provider's answer on as it comes: status, headers and bytes, each chunk at once, with backpressure both
 * ways. It meters a copy; nothing is encoded anew. A caller that leaves ends the provider's call; a provider that dies in
 * the middle never looks like a whole answer.
 */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { codingOf } from '../codings.ts';
import { Meter } from '../meter.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';
import { type AnswerHead, isCoded, readHead, redirectHost } from './answer-head.ts';
import { CallerAnswer } from './caller-answer.ts';
import { CodedPassage } from './coded-passage.ts';
import { type Onward, type Passage, PlainPassage } from './passage.ts';
import { readFailure } from './provider-failure.ts';

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly dialect: Dialect;
  readonly session: string;
  readonly secrets: readonly Buffer[];
  /** Whether the gate asked for the usage and not the caller. */
  readonly hidesUsage: boolean;
  /** Aborted when the call must end; `stopped` says why. */
  readonly signal: AbortSignal;
  readonly stopped: () => StopReason | null;
  /** How long a call that is no stream may take in all, milliseconds. */
  readonly wholeLimitMs: number;
  /** How long a stream may say nothing, milliseconds. */
  readonly idleLimitMs: number;
  /** After how long a silence of a stream its caller is sent a comment, milliseconds. */
  readonly silenceMs?: number;
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
  /** Where a refused redirect led; `null` where there was none, or it named no host. */
  readonly redirectHost: string | null;
  /** Whether the end of the answer was told by more than the end of its connection. */
  readonly framed: boolean;
  /** What we did wrong ourselves, where that ended it. */
  readonly fault: { readonly error: unknown } | null;
}

/** A handler for one `dispatch`. Its `ended` never rejects. */
export class AnswerRelay implements Dispatcher.DispatchHandler {
  readonly ended: Promise<RelayEnd>;
  readonly #options: RelayOptions;
  readonly #answer: CallerAnswer;
  readonly #onAbort = () => this.#guard(() => this.#fail(this.#options.stopped() ?? 'client_left'));
  readonly #onDrain = () => this.#guard(() => this.#flow());
  readonly #onTick = () => this.#guard(() => this.#passWaiting());
  /** A caller that reads nothing keeps its provider silent. */
  readonly #onLimit = () =>
    this.#guard(() => this.#fail(this.#answer.full ? 'client_left' : 'provider_timeout'));
  #settle: (end: RelayEnd) => void = () => {};
  #controller: Dispatcher.DispatchController | null = null;
  #head: AnswerHead | null = null;
  #passage: Passage | null = null;
  #meter: Meter | null = null;
  #redirectHost: string | null = null;
  #waiting: Buffer[] = [];
  #firstByteAt: number | null = null;
  #done = false;
  #fault: RelayEnd['fault'] = null;
  #limit: NodeJS.Timeout;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#answer = new CallerAnswer(options.response, options.dialect, options.silenceMs);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#limit = setTimeout(this.#onLimit, options.wholeLimitMs);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal.aborted) this.#onAbort();
  }

  /** What `dispatch` itself threw. */
  refuse(error: unknown): void {
    this.#guard(() => this.#fail(readFailure(error)));
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
    this.#guard(() => this.#start(controller, status, statusText));
  }

  #start(controller: Dispatcher.DispatchController, status: number, statusText: string): void {
    // A client would follow it with its credential, or with what it takes for one.
    if (status >= 300 && status < 400 && status !== 304) {
      this.#redirectHost = redirectHost(controller, this.#options.secrets);
      this.#fail('redirect_refused');
      return;
    }
    const { dialect, session, idleLimitMs, secrets } = this.#options;
    const head = readHead(controller, status, statusText, this.#options.hidesUsage);
    this.#head = head;
    this.#meter = new Meter(dialect, head.contentType, head.encoding, session);
    this.#passage = openPassage(head, this.#options, this.#onward);
    if (head.events) {
      clearTimeout(this.#limit);
      this.#limit = setTimeout(this.#onLimit, idleLimitMs);
    }
    this.#answer.open(head, secrets);
  }

  /** Chunks that came with one read are one step: a flood of small events costs a write for each read, not for each. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    if (this.#waiting.push(chunk) === 1) process.nextTick(this.#onTick);
  }

  onResponseEnd(): void {
    this.#guard(() => {
      const last = this.#takeWaiting();
      if (this.#done) return;
      const ending = this.#passage?.end(last);
      if (ending) void ending.then(() => this.#finish(null)).catch(this.#onFault);
      else this.#finish(null);
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#guard(() => this.#die(error));
  }

  #die(error: Error): void {
    const last = this.#takeWaiting();
    if (this.#done) return;
    // What it said before it died is the caller's.
    if (this.#head && !isCoded(this.#head)) this.#passage?.end(last);
    this.#fail(this.#head === null ? readFailure(error) : 'provider_died');
  }

  /** Ends a stream whose connection alone told of its end, where its events did not. */
  cutShort(): void {
    this.#answer.breakOff('provider_died');
  }

  /** Ends an answer that was whole, where its framing did not tell. */
  complete(): void {
    this.#answer.end();
  }

  readonly #onward: Onward = {
    pass: (bytes) => {
      if (!this.#done) this.#answer.write(bytes);
    },
    breakOff: () => this.#fail('provider_died'),
    ready: () => this.#flow(),
    fault: (error) => this.#onFault(error),
  };

  /** Every step that somebody else calls: what it throws ends this one call, and never the process. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#onFault(error);
    }
  }

  readonly #onFault = (error: unknown): void => {
    this.#fault ??= { error };
    this.#fail('internal');
  };

  #passWaiting(): void {
    const data = this.#takeWaiting();
    if (data.length === 0 || this.#done) return;
    // A comment says that the connection lives, not that its model does.
    if (this.#head?.events && !isComment(data)) this.#limit.refresh();
    this.#passage?.push(data);
    if (this.#mayFlow || this.#done) return;
    this.#controller?.pause();
    this.#awaitDrain();
  }

  /** What came and has not been passed on. It is metered on its way out of here. */
  #takeWaiting(): Buffer {
    const chunks = this.#waiting;
    if (chunks.length === 0 || this.#done) return NOTHING;
    this.#waiting = [];
    const data = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    this.#firstByteAt ??= this.#options.now();
    this.#meter?.see(data);
    return data;
  }

  get #mayFlow(): boolean {
    return !this.#answer.full && this.#passage?.busy !== true;
  }

  #flow(): void {
    if (this.#done) return;
    if (this.#mayFlow) this.#controller?.resume();
    // The drain that was waited for may have come while the passage was busy, and filled up again.
    else this.#awaitDrain();
  }

  #awaitDrain(): void {
    this.#options.response.off('drain', this.#onDrain).once('drain', this.#onDrain);
  }

  #fail(reason: RelayEnd['failure']): void {
    if (this.#done || reason === null) return;
    this.#waiting = [];
    this.#finish(reason);
    this.#controller?.abort(LEFT);
    if (this.#answer.status !== null) this.#answer.breakOff(reason);
  }

  #finish(failure: RelayEnd['failure']): void {
    if (this.#done) return;
    // What may throw comes before anything is settled.
    if (failure === null) this.#answer.sendHead();
    this.#done = true;
    clearTimeout(this.#limit);
    const framed = this.#isFramed();
    // In the same turn as its last bytes, so that all of it is one write.
    if (failure === null && framed) this.#answer.end();
    this.#answer.rest();
    this.#passage?.close();
    const { signal, response } = this.#options;
    signal.removeEventListener('abort', this.#onAbort);
    response.off('drain', this.#onDrain);
    this.#settle({
      failure,
      status: this.#answer.status,
      firstByteAt: this.#firstByteAt,
      meter: this.#meter,
      redirectHost: this.#redirectHost,
      framed,
      fault: this.#fault,
    });
  }

  #isFramed(): boolean {
    const head = this.#head;
    return head === null || head.framed || !head.events || isCoded(head);
  }
}

/** Whether it is whole lines that no client is told of, and nothing else. */
function isComment(data: Buffer): boolean {
  const first = data[0];
  if ((first !== COLON && first !== LF && first !== CR) || data.length > MAX_COMMENT_BYTES) return false;
  return /^(?:(?::[^\r\n]*)?[\r\n])*$/.test(data.toString('latin1'));
}

function openPassage(
  head: AnswerHead,
  { secrets, session, hidesUsage }: RelayOptions,
  onward: Onward,
): Passage {
  const coding = codingOf(head.encoding);
  if (coding !== null && secrets.length > 0) return new CodedPassage(coding, session, secrets, onward);
  return new PlainPassage(secrets, head.events && !isCoded(head), onward, hidesUsage);
}

const NOTHING = Buffer.alloc(0);
const COLON = 0x3a;
const LF = 0x0a;
const CR = 0x0d;
const MAX_COMMENT_BYTES = 4_096;
const LEFT = new Error('the call has ended');
