/**
 * The body of an answer, from the origin through its scrubber to wherever it goes, with backpressure. What may still be cut
 * off says beforehand nothing of what is to come: how long a compressed text is tells how much of it repeats itself, and
 * so, to whoever wrote a guess into it, whether the guess is in it twice.
 */

import { outlastsPause } from '../../core-lite/pause.ts';
import type { BodyReader, BodyStep } from '../http1/body-reader.ts';
import type { ByteReader, NoBytes } from '../http1/byte-reader.ts';
import type { Framing } from '../http1/framing.ts';
import type { ResponseHead } from '../http1/head.ts';
import { makeLine } from '../http1/write-head.ts';
import { type BodyScrubber, type Cut, type CutOff, PAUSE_MS } from '../scrub/body-scrubber.ts';

/** `as_it_came`; `bare`, without the chunks that it came in; `chunks`: in some of our own. */
type Form = 'as_it_came' | 'bare' | 'chunks';

export interface Shown {
  readonly head: ResponseHead;
  readonly form: Form;
  /** Whether all of the body is looked at before its head leaves. */
  readonly judged: boolean;
}

/**
 * What the client is shown of an answer.
 * @param head masked
 * @param mayCut whether its body may be cut off
 * @param minor of the client: before HTTP/1.1 it cannot read chunks, and its connection ends with the answer
 */
export function showAnswer(head: ResponseHead, framing: Framing, mayCut: boolean, minor: number): Shown {
  const shown = { head, form: 'as_it_came', judged: false } as const;
  const isOld = minor === 0 || head.minor === 0;
  if (!mayCut && (framing.kind !== 'chunked' || minor === 1)) return shown;
  if (!mayCut) return { ...shown, form: 'bare', head: without(head, ['transfer-encoding', 'trailer']) };
  if (framing.kind === 'length' && framing.bytes <= MAX_JUDGED_BYTES) return { ...shown, judged: true };
  const unmeasured = without(head, ['content-length']);
  if (framing.kind === 'none' || framing.kind === 'until_close') return { ...shown, head: unmeasured };
  if (isOld) return { ...shown, form: 'bare', head: without(unmeasured, ['transfer-encoding', 'trailer']) };
  const { headers } = without(unmeasured, ['transfer-encoding']);
  return { ...shown, form: 'chunks', head: { ...head, headers: [...headers, CHUNKED] } };
}

export interface AnswerBodyInput {
  readonly reader: ByteReader;
  readonly framing: Framing;
  readonly body: BodyReader;
  readonly scrubbed: BodyScrubber;
  readonly shown: Shown;
  /** @returns `false` where nothing more can be sent */
  readonly send: (bytes: Buffer) => Promise<boolean>;
  /** Something came, whether it goes on or waits. */
  readonly onHeard: () => void;
}

export class AnswerBody {
  readonly #input: AnswerBodyInput;
  #cut: Cut | null = null;
  /** What goes behind the last chunk. */
  #trailers: Buffer = CRLF;

  constructor(input: AnswerBodyInput) {
    this.#input = input;
  }

  /** Why nothing more passed. */
  get cut(): Cut | null {
    return this.#cut;
  }

  /** @returns whether the body came to its end */
  async receive(): Promise<boolean> {
    const { body, reader, framing } = this.#input;
    while (!body.done) {
      const chunk = await this.#next();
      if (typeof chunk === 'string') {
        const whole = framing.kind === 'until_close' && chunk === 'end';
        return whole && this.#pass(await this.#input.scrubbed.end());
      }
      this.#input.onHeard();
      const step = body.read(chunk);
      if (!step) return false;
      if (step.used < chunk.length) reader.unread(chunk.subarray(step.used));
      if (!(await this.#passStep(step))) return false;
    }
    return (await this.#pass(await this.#input.scrubbed.end())) && this.#endChunks();
  }

  async #passStep(step: BodyStep): Promise<boolean> {
    const { framing, scrubbed, shown } = this.#input;
    const asItCame = shown.form === 'as_it_came';
    // They stand last, and alone where they came after all else.
    if (step.done && framing.kind === 'chunked') this.#trailers = step.forward.at(-1) ?? CRLF;
    const parts = asItCame ? step.forward : contentOf(step);
    for (const [i, part] of parts.entries()) {
      const data = !asItCame ? [0, part.length] : i === 0 ? step.data : [];
      if (!(await this.#pass(await scrubbed.push(part, data)))) return false;
    }
    return true;
  }

  #next(): Promise<Buffer | NoBytes> {
    const { reader, scrubbed, shown } = this.#input;
    const next = reader.next();
    return scrubbed.mayLetGo && !shown.judged ? this.#letGoAtPause(next) : next;
  }

  async #letGoAtPause(next: Promise<Buffer | NoBytes>): Promise<Buffer | NoBytes> {
    if (await outlastsPause(next, PAUSE_MS)) await this.#pass(this.#input.scrubbed.letGo());
    return next;
  }

  /** @returns `false` where nothing more may pass */
  async #pass(parts: readonly Buffer[] | CutOff): Promise<boolean> {
    if ('cut' in parts) {
      await this.#pass(parts.before);
      this.#cut = parts.cut;
      return false;
    }
    for (const part of parts) {
      const { shown, send } = this.#input;
      if (!(await send(shown.form === 'chunks' ? chunkOf(part) : part))) return false;
    }
    return true;
  }

  async #endChunks(): Promise<boolean> {
    const { shown, send } = this.#input;
    return shown.form !== 'chunks' || send(Buffer.concat([LAST_CHUNK, this.#trailers]));
  }
}

/** The content alone of what came, without its chunks' lines and its trailers: one part, however small its chunks are. */
function contentOf({ forward: [first], data }: BodyStep): readonly Buffer[] {
  const parts: Buffer[] = [];
  for (let i = 0; first && i < data.length; i += 2) parts.push(first.subarray(data[i], data[i + 1]));
  return parts.length > 1 ? [Buffer.concat(parts)] : parts;
}

/** @param bytes at least one: an empty chunk would be the last */
function chunkOf(bytes: Buffer): Buffer {
  return bytes.length === 0
    ? bytes
    : Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]);
}

/** The head but for the lines of these names, in lower case. */
export function without(head: ResponseHead, names: readonly string[]): ResponseHead {
  return { ...head, headers: head.headers.filter(({ name }) => !names.includes(name)) };
}

const CHUNKED = makeLine('Transfer-Encoding', 'chunked');
const CRLF = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n');
/** What a client waits for as a whole anyway. */
export const MAX_JUDGED_BYTES = 64 * 1024;
