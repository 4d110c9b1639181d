/**
 * The caller's side of an answer that is relayed: its head, its bytes, comments while a stream of events is silent, and
 * an end that nobody takes for another. A comment stands between two events, never in one, and never before the head.
 */
import type { ServerResponse } from 'node:http';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { formatErrorEvent, isStreamError } from '../error-event.ts';
import { type AnswerHead, isCoded } from './answer-head.ts';
import { maskHeaders } from './mask.ts';

export class CallerAnswer {
  readonly #response: ServerResponse;
  readonly #dialect: Dialect;
  readonly #silenceMs: number;
  #head: AnswerHead | null = null;
  #secrets: readonly Buffer[] = [];
  #sent = false;
  /** Events may be added. */
  #roomy = false;
  #lastBytes: Buffer = EMPTY;
  #silence: NodeJS.Timeout | undefined;

  /** @param silenceMs after which a comment goes out */
  constructor(response: ServerResponse, dialect: Dialect, silenceMs = SILENCE_MS) {
    this.#response = response;
    this.#dialect = dialect;
    this.#silenceMs = silenceMs;
  }

  /** `null` while nothing went out. */
  get status(): number | null {
    return this.#sent ? (this.#head?.status ?? null) : null;
  }

  /** Whether more would wait in memory. */
  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** A stream's head leaves at once; any other with its first bytes, in one write: till then all may still be refused. */
  open(head: AnswerHead, secrets: readonly Buffer[]): void {
    this.#head = head;
    this.#secrets = secrets;
    if (!head.events) return;
    this.sendHead();
    // Not `flushHeaders`, which writes the lines in UTF-8: they are bytes of any kind.
    this.#response.write('', 'latin1');
    // Only a stream without a length has room for a comment, or for one more event.
    this.#roomy = !isCoded(head) && !head.hasLength;
    if (this.#roomy) this.#silence = setTimeout(this.#onSilence, this.#silenceMs);
  }

  sendHead(): void {
    const head = this.#head;
    if (this.#sent || !head) return;
    this.#response.sendDate = false;
    const [phrase = '', ...masked] = maskHeaders([head.statusText, ...head.headers], this.#secrets);
    if (PHRASE.test(phrase)) this.#response.writeHead(head.status, phrase, masked);
    else this.#response.writeHead(head.status, masked);
    this.#sent = true;
  }

  write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.sendHead();
    if (this.#roomy) {
      this.#lastBytes =
        bytes.length >= 4 ? bytes.subarray(-4) : Buffer.concat([this.#lastBytes, bytes]).subarray(-4);
      this.#silence?.refresh();
    }
    this.#response.write(bytes);
  }

  /** Nothing more is written but its end. */
  rest(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }

  /** An answer that went out in part ends so that no client takes it for whole. */
  breakOff(reason: string | null): void {
    this.rest();
    if (this.#response.destroyed) return;
    if (!this.#roomy || !isStreamError(reason)) {
      // Node writes what it was given in this turn at the end of it.
      setImmediate(() => this.#response.destroy());
      return;
    }
    this.#response.end(this.#gap() + formatErrorEvent(this.#dialect, reason));
  }

  readonly #onSilence = (): void => {
    if (!this.full && this.#betweenEvents()) this.#response.write(COMMENT);
    this.#silence?.refresh();
  };

  /** A CR may be the half of what is yet to come, unless all lines of the stream end so. */
  #betweenEvents(): boolean {
    const last = this.#lastBytes.toString('latin1');
    return last === '' || /\n\r?\n$|\r\r$/.test(last);
  }

  /** What stands between a broken event and the error event. In one with both, the later name counts. */
  #gap(): string {
    if (this.#betweenEvents()) return '';
    if (this.#dialect !== 'anthropic') return '\n\n';
    return this.#lastBytes.at(-1) === LF ? '' : '\n';
  }
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
/** What can be written as it was read; in the place of any other stands the status's own. */
const PHRASE = /^[\t\x20-\x7e]*$/;
/** With an empty line of its own: some clients read from one empty line to the next. */
const COMMENT = ': keep-alive\n\n';
/** Shorter than what proxies and clients wait for. */
const SILENCE_MS = 20_000;
