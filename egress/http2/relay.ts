/**
 * One exchange over streams: the client's to the origin's and back, with flow control as the only buffer. How a stream
 * ended is carried over: its end, its trailers or the code of its reset. What broke off is never shown as whole.
 */

import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import type { Allow } from '../../core-lite/decision.ts';
import { MAX_JUDGED_BYTES } from '../act/answer-body.ts';
import { keepAwake } from '../act/keep-awake.ts';
import { type HeaderLine, headerValues } from '../http1/head.ts';
import { type BodyScrubber, type Cut, UNTOUCHED } from '../scrub/body-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { Ending } from './ending.ts';
import type { StreamInput, StreamOutcome } from './exchange.ts';
import {
  type AnswerHead,
  asObject,
  dropHopHeaders,
  measureHead,
  readAnswerHead,
  readTrailers,
  writeAnswerHead,
} from './head.ts';
import { pumpAnswer } from './pump-answer.ts';
import { pumpRequest } from './pump-request.ts';
import { attempt, respond, sendTrailers } from './respond.ts';

/**
 * @param open begins the stream to the origin
 * @returns what came of it, when both streams are over; never rejects. Where nothing was answered the client's stream
 * is open still, unless the client itself closed it.
 */
export function relayStream(
  _proof: Allow,
  input: StreamInput,
  client: ServerHttp2Stream,
  open: (head: readonly string[], ended: boolean) => ClientHttp2Stream,
): Promise<StreamOutcome> {
  return new Promise((resolve) => new StreamExchange(input, client, open, resolve));
}

class StreamExchange {
  readonly #client: ServerHttp2Stream;
  readonly #origin: ClientHttp2Stream;
  readonly #request: Ending;
  readonly #answer: Ending;
  readonly #settle: (outcome: StreamOutcome) => void;
  readonly #keepTrailer: (line: HeaderLine) => boolean;
  readonly #scrubber: Scrubber;
  readonly #isWebSocket: boolean;
  readonly #passUnauthorized: () => Promise<boolean>;
  readonly #onClientClose = () => this.#stopOrigin();
  /** When the client's stream has all of the answer. */
  readonly #answered = Promise.withResolvers<void>();
  /** When all of the answer has passed that may. */
  #passed: Promise<void> = Promise.resolve();
  #status: number | null = null;
  #invalid = false;
  #cut: Cut | null = null;
  /** Of the answer that was cut. */
  #refused = 0;
  #judging = false;
  #withheld = false;
  /** The origin's stream closed. */
  #over = false;
  /** The answer's: they may come before it is known whether it is passed on. */
  #trailers: readonly HeaderLine[] = [];
  #left = false;
  #informational = 0;
  /** Heads and bodies on the origin's side, before compression. */
  #bytesUp: number;
  #bytesDown = 0;

  constructor(
    input: StreamInput,
    client: ServerHttp2Stream,
    open: (head: readonly string[], ended: boolean) => ClientHttp2Stream,
    settle: (outcome: StreamOutcome) => void,
  ) {
    this.#client = client;
    this.#keepTrailer = input.keepTrailer;
    this.#scrubber = input.scrubber;
    this.#isWebSocket = input.isWebSocket;
    this.#passUnauthorized = input.passUnauthorized;
    this.#settle = settle;
    this.#bytesUp = measureHead(input.originHead);
    this.#request = input.request;
    this.#origin = open(input.originHead, input.request.whole);
    this.#answer = new Ending(this.#origin, false);
    this.#follow();
    if (!input.request.whole) this.#sendRequest();
  }

  #follow(): void {
    // Errors come with a close; without a listener they would end the process.
    this.#origin.on('error', ignore);
    this.#origin.on('headers', (_headers, _flags, raw) => attempt(this.#origin, () => this.#inform(raw)));
    this.#origin.on('response', (_headers, flags, raw) =>
      attempt(this.#origin, () => this.#respond(raw, flags)),
    );
    this.#origin.once('trailers', (_headers, _flags, raw) => {
      this.#bytesDown += measureHead(raw);
      this.#trailers = dropHopHeaders(readTrailers(raw)).map((line) => this.#scrubber.line(line));
    });
    this.#origin.once('close', () => this.#finish());
    this.#client.once('close', this.#onClientClose);
    if (this.#client.closed) this.#stopOrigin();
  }

  /** The client is gone, or has its answer: what it asked for is not wanted any more. */
  #stopOrigin(): void {
    if (this.#origin.closed) return;
    this.#left = true;
    this.#origin.close(this.#client.rstCode || constants.NGHTTP2_CANCEL);
  }

  #sendRequest(): void {
    let trailers: readonly HeaderLine[] = [];
    this.#client.once('trailers', (_headers, _flags, raw) => {
      trailers = readTrailers(raw).filter(this.#keepTrailer);
    });
    this.#origin.once('wantTrailers', () => sendTrailers(this.#origin, trailers));
    pumpRequest(this.#client, this.#origin, this.#request, (chunk) => {
      this.#bytesUp += chunk.length;
    });
  }

  /** A 1xx. */
  #inform(raw: readonly string[]): void {
    this.#bytesDown += measureHead(raw);
    this.#informational += 1;
    const head = readAnswerHead(raw);
    if (this.#status !== null || !head || this.#client.closed) return;
    // 101 does not exist in HTTP/2 (RFC 9113 8.6); a flood of these is no answer.
    if (head.status === 101 || this.#informational > MAX_INFORMATIONAL) this.#reject();
    else {
      const { headers } = this.#scrubber.head(head);
      this.#client.additionalHeaders({ ':status': head.status, ...asObject(dropHopHeaders(headers)) });
    }
  }

  #respond(raw: readonly string[], flags: number): void {
    this.#bytesDown += measureHead(raw);
    const head = readAnswerHead(raw);
    if (this.#client.closed || this.#client.destroyed) return;
    if (!head || head.status < 200 || head.status > 599) {
      this.#reject();
      return;
    }
    const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (head.status === 401) void this.#judge(head, ended);
    else this.#pass(head, ended);
  }

  /** Until it is known, nothing of the answer is read; the origin's stream may be over meanwhile. */
  async #judge(head: AnswerHead, ended: boolean): Promise<void> {
    this.#judging = true;
    const passes = await this.#passUnauthorized();
    this.#judging = false;
    if (passes && !this.#client.closed && !this.#client.destroyed) {
      attempt(this.#origin, () => this.#pass(head, ended));
    } else {
      this.#withheld = !passes;
      // What is not read would keep the stream open.
      this.#origin.resume();
      this.#origin.close(constants.NGHTTP2_CANCEL);
    }
    if (this.#over) this.#finish();
  }

  #pass(head: AnswerHead, ended: boolean): void {
    const scrubbed = this.#isWebSocket ? UNTOUCHED : this.#scrubber.body(head);
    // Node has ended the answer to a HEAD already.
    const bare = ended || this.#client.writableEnded || BODILESS.has(head.status);
    const [length] = headerValues(head.headers, 'content-length');
    const judged = !bare && scrubbed.mayCut && length !== undefined && Number(length) <= MAX_JUDGED_BYTES;
    const shown = scrubbed.mayCut && !judged ? withoutLength(head) : head;
    if (judged) this.#sendAnswer(head.status, scrubbed, () => this.#sendHead(shown, false));
    else {
      this.#sendHead(shown, bare);
      if (!bare) this.#sendAnswer(head.status, scrubbed, null);
    }
    if (bare) {
      scrubbed.close();
      this.#origin.resume();
      this.#answered.resolve();
    }
  }

  #sendHead(head: AnswerHead, bare: boolean): void {
    this.#status = head.status;
    const headers = dropHopHeaders(this.#scrubber.head(head).headers);
    const options = { endStream: bare, waitForTrailers: !bare };
    respond(this.#client, writeAnswerHead({ status: head.status, headers }), options);
  }

  /** @param onJudged where nothing leaves before all was looked at */
  #sendAnswer(status: number, scrubbed: BodyScrubber, onJudged: (() => void) | null): void {
    this.#client.once('wantTrailers', () => {
      sendTrailers(this.#client, this.#trailers);
      // Node hands them over in the next round of the event loop.
      setImmediate(() => setImmediate(this.#answered.resolve));
    });
    this.#passed = pumpAnswer({
      from: this.#origin,
      to: this.#client,
      ending: this.#answer,
      scrubbed,
      onJudged: onJudged && (() => attempt(this.#origin, onJudged)),
      onBytes: (count) => {
        keepAwake(this.#client.session);
        this.#bytesDown += count;
      },
      onCut: (cut) => {
        this.#cut = cut;
        this.#refused = status;
        this.#origin.close(constants.NGHTTP2_CANCEL);
      },
    });
  }

  #reject(): void {
    this.#invalid = true;
    this.#origin.close(constants.NGHTTP2_PROTOCOL_ERROR);
  }

  /** The origin's stream is over: so is the exchange, when the client has what came of it. */
  #finish(): void {
    this.#over = true;
    if (this.#judging) return;
    void this.#passed.then(() => {
      if (this.#status !== null) this.#finishAnswer(this.#status);
      else this.#finishUnanswered();
    });
  }

  #finishUnanswered(): void {
    const { bytesUp, bytesDown } = { bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
    this.#client.removeListener('close', this.#onClientClose);
    const code = this.#origin.rstCode;
    const left = this.#left;
    if (this.#withheld) this.#settle({ kind: 'withheld', bytesUp, bytesDown });
    else if (this.#cut)
      this.#settle({ kind: 'refused', cut: this.#cut, status: this.#refused, bytesUp, bytesDown });
    else
      this.#settle(
        this.#invalid ? { kind: 'invalid', bytesUp } : { kind: 'unanswered', code, bytesUp, left },
      );
  }

  #finishAnswer(status: number): void {
    const complete = this.#answer.whole && !this.#cut;
    const leave = () => {
      const bytes = { bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
      const { masked } = this.#scrubber;
      this.#settle({
        kind: 'answered',
        status,
        ...bytes,
        complete,
        cut: this.#cut,
        left: this.#left,
        masked,
      });
    };
    if (this.#client.destroyed) {
      leave();
      return;
    }
    this.#client.once('close', leave);
    // What the client still sends is read and dropped: unread, it would keep the stream open.
    this.#client.resume();
    if (!complete) this.#breakOff((!this.#cut && this.#origin.rstCode) || constants.NGHTTP2_INTERNAL_ERROR);
    else if (!this.#request.whole) void this.#answered.promise.then(() => this.#client.close());
  }

  /** What is on its way is written first: then the client sees a reset. */
  #breakOff(code: number): void {
    if (this.#client.writableLength === 0 || this.#client.writableEnded) this.#client.close(code);
    else this.#client.write(Buffer.alloc(0), () => this.#client.close(code));
  }
}

function withoutLength(head: AnswerHead): AnswerHead {
  return { ...head, headers: head.headers.filter(({ name }) => name !== 'content-length') };
}

function ignore(): void {}

/** Answers that never have a body, whatever they declare (RFC 9110). */
const BODILESS = new Set([204, 205, 304]);
/** More than any server sends, as in HTTP/1.1. */
const MAX_INFORMATIONAL = 32;
