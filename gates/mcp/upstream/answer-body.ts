/**
 * The bytes of a server's answer as the SDK's transport reads them: decoded, with our secrets masked, within limits, and
 * no faster than they are read. A limit that is passed ends the connection.
 */
import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { SecretMask } from '../../act/mask.ts';
import { type Coding, makePlaces, openDecoder } from '../../codings.ts';
import { MessageGauge } from './message-gauge.ts';
import { FetchFailure, type Trace } from './trace.ts';

export interface BodyOptions {
  /** Whose answer it is. */
  readonly session: string;
  readonly coding: Coding | null;
  /** A stream of events: one message is measured, not all of them together. */
  readonly events: boolean;
  readonly secrets: readonly Buffer[];
  /** Of one message. */
  readonly maxBytes: number;
  readonly trace: Trace;
}

export class AnswerBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #options: BodyOptions;
  readonly #flow: Dispatcher.DispatchController;
  readonly #mask: SecretMask;
  readonly #gauge: MessageGauge;
  #sink: ReadableStreamDefaultController<Uint8Array> | null = null;
  #decoder: Transform | null = null;
  #over = false;

  constructor(flow: Dispatcher.DispatchController, options: BodyOptions) {
    this.#flow = flow;
    this.#options = options;
    this.#mask = new SecretMask(options.secrets);
    this.#gauge = new MessageGauge(options.events, options.maxBytes);
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (sink) => {
          this.#sink = sink;
        },
        pull: () => this.#flow.resume(),
        cancel: () => this.#stop(),
      },
      { highWaterMark: HELD_BYTES, size: (chunk) => chunk.byteLength },
    );
  }

  push(chunk: Buffer): void {
    if (this.#over) return;
    if (this.#options.coding === null) this.#pass(chunk);
    else this.#decode(this.#options.coding, chunk);
  }

  /** The connection brought all of it. */
  end(): void {
    if (this.#over) return;
    if (this.#decoder) this.#decoder.end();
    else this.#finish();
  }

  /** It broke off. Why stands in the trace. */
  break(): void {
    if (this.#over) return;
    this.#over = true;
    this.#decoder?.destroy();
    this.#sink?.error(new FetchFailure());
  }

  #decode(coding: Coding, chunk: Buffer): void {
    this.#decoder ??= this.#open(coding, chunk);
    const decoder = this.#decoder;
    if (!decoder) {
      this.#fail('malformed', 'it is compressed, and too much is already');
      return;
    }
    if (!decoder.write(chunk)) {
      this.#flow.pause();
      decoder.once('drain', () => this.#flow.resume());
    }
  }

  #open(coding: Coding, first: Buffer): Transform | null {
    const decoder = openDecoder(coding, first, { places: PLACES, session: this.#options.session });
    return (
      decoder
        ?.on('data', (text: Buffer) => this.#pass(text))
        .on('end', () => this.#finish())
        .on('error', () => this.#fail('malformed', `it is no ${coding}`)) ?? null
    );
  }

  #pass(text: Buffer): void {
    if (this.#over) return;
    if (!this.#gauge.add(text)) {
      this.#fail('too_large', null);
      return;
    }
    const masked = this.#mask.write(text);
    if (masked.length > 0) this.#sink?.enqueue(masked);
    if ((this.#sink?.desiredSize ?? 1) <= 0) this.#flow.pause();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    const rest = this.#mask.end(NOTHING);
    if (rest.length > 0) this.#sink?.enqueue(rest);
    this.#sink?.close();
  }

  #fail(failure: 'malformed' | 'too_large', detail: string | null): void {
    this.#options.trace.fail(failure, detail);
    this.break();
    this.#flow.abort(new FetchFailure());
  }

  #stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#decoder?.destroy();
    this.#flow.abort(new FetchFailure());
  }
}

const NOTHING = Buffer.alloc(0);
const HELD_BYTES = 64 * 1024;
const PLACES = makePlaces();
