/**
 * Looks at the beginning of a provider's answer while something else may still be called in its place: one that cannot
 * be reached, is busy or failing is passed over, and nothing of it goes on. Of a stream the first event is waited for,
 * a moment at most. Any other answer goes on at once and as it came.
 */
import type { Dispatcher } from 'undici';
import { type AnswerHead, isCoded, readHead } from './answer-head.ts';
import { headerValue } from './headers.ts';
import { readFailure } from './provider-failure.ts';
import type { AnswerRelay } from './relay-answer.ts';
import type { Unreachable } from './upstream.ts';

/** Why a candidate did not answer, so that the next one is called. */
export interface PassedOver {
  readonly passedOver: Unreachable | 'connect_failed' | 'provider_certificate' | 'provider_busy';
  /** When the provider wants to be asked again, as it said; empty where it did not. */
  readonly retryAfter: string;
}

/** A handler for one `dispatch` in front of the relay. */
export class FirstLook implements Dispatcher.DispatchHandler {
  readonly #relay: AnswerRelay;
  /** The start of a stream whose first event is still to come. */
  #held: Held | null = null;
  #passed: PassedOver | null = null;

  constructor(relay: AnswerRelay) {
    this.#relay = relay;
  }

  /** `null` when the answer is the relay's. */
  get passed(): PassedOver | null {
    return this.#passed;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#relay.onRequestStart(controller);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: unknown,
    statusText = '',
  ): void {
    if (this.#passed || status < 200) return;
    const head = readHead(controller, status, statusText, false);
    const start = (): void => this.#relay.onResponseStart(controller, status, headers, statusText);
    if (isBusy(status)) this.#passOver('provider_busy', head);
    else if (status !== 200 || !head.events || isCoded(head)) start();
    else this.#held = new Held(head, start, () => this.#release(controller));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const held = this.#held;
    if (this.#passed) return;
    if (!held) {
      this.#relay.onResponseData(controller, chunk);
      return;
    }
    const first = held.add(chunk);
    if (first === null) return;
    if (tellsOfFailure(first)) this.#passOver('provider_busy', held.head);
    else this.#release(controller);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#passed) return;
    this.#release(controller);
    this.#relay.onResponseEnd();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#passed) return;
    const failure = readFailure(error);
    const started = this.#held !== null;
    this.#drop();
    // One that broke off may have done its work: it is not asked again, and neither is another.
    if (!started && failure !== 'provider_failed') this.#passOver(failure);
    else this.#relay.onResponseError(controller, error);
  }

  /** What `dispatch` itself threw. */
  refuse(error: unknown): void {
    const failure = readFailure(error);
    if (failure === 'provider_failed') this.#relay.refuse(error);
    else this.#passOver(failure);
  }

  #release(controller: Dispatcher.DispatchController): void {
    const held = this.#held;
    if (!held) return;
    this.#drop();
    held.start();
    for (const chunk of held.chunks) this.#relay.onResponseData(controller, chunk);
  }

  #passOver(passedOver: PassedOver['passedOver'], head?: AnswerHead): void {
    this.#drop();
    this.#passed = { passedOver, retryAfter: head ? headerValue(head.headers, 'retry-after') : '' };
    // Ends the relay, which has let nothing out, and with it the provider's answer.
    this.#relay.refuse(null);
  }

  #drop(): void {
    this.#held?.close();
    this.#held = null;
  }
}

/** A stream's head and its first bytes. */
class Held {
  readonly head: AnswerHead;
  readonly start: () => void;
  readonly chunks: Buffer[] = [];
  readonly #patience: NodeJS.Timeout;
  #bytes = 0;
  #text = '';

  constructor(head: AnswerHead, start: () => void, onTired: () => void) {
    this.head = head;
    this.start = start;
    this.#patience = setTimeout(onTired, PATIENCE_MS);
  }

  /** @returns the stream's first event, or what there is when it is too long to wait for; `null` while it is not whole */
  add(chunk: Buffer): string | null {
    this.chunks.push(chunk);
    this.#bytes += chunk.length;
    // Some tell that they are alive before they tell that they are not.
    this.#text = (this.#text + chunk.toString('latin1')).replace(COMMENTS, '');
    const end = EVENT_END.exec(this.#text);
    if (end) return this.#text.slice(0, end.index);
    return this.#bytes > MAX_HELD_BYTES ? '' : null;
  }

  close(): void {
    clearTimeout(this.#patience);
  }
}

/** What may pass by itself or is the provider's alone: 408, 429 and every 5xx, Anthropic's 529 among them. */
function isBusy(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Whether an event tells of an error that is not the caller's own. */
function tellsOfFailure(event: string): boolean {
  return ERROR_EVENT.test(event) && !CALLERS_OWN.test(event);
}

/** Whole lines without a field, at the beginning. */
const COMMENTS = /^(?:(?::[^\r\n]*)?(?:\r\n|\n|\r(?!$)))+/;
const EVENT_END = /\r\n\r\n|\n\n|\r\r/;
const ERROR_EVENT = /^event: ?error\s*$|^data: ?\{\s*"(?:error"|type":\s*"error")/m;
/** The names and numbers that the dialects have for what no other provider would take either. */
const CALLERS_OWN =
  /invalid_request|authentication_error|permission_error|not_found|too_large|INVALID_ARGUMENT|"code":\s*4(?!08|29)\d\d\b/;
/** No error is larger. */
const MAX_HELD_BYTES = 16 * 1024;
/** An error comes with the head; a model that thinks before its first event is not waited for. */
const PATIENCE_MS = 1_000;
