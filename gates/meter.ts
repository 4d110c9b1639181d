/**
 * What an answer says it used. The meter sees the provider's bytes as they pass and touches none: it never delays or
 * encodes them anew. It does not parse each event, keeps next to nothing, and reads compressed answers from a copy.
 */
import type { TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import { countTokens } from './meter/count-tokens.ts';
import { Decoder } from './meter/decoder.ts';
import { MAX_ERROR_CHARS } from './meter/error-text.ts';
import { EventData } from './meter/event-data.ts';
import { isErrorHead } from './meter/event-head.ts';
import { FirstContent } from './meter/first-content.ts';
import { JsonScan } from './meter/json-scan.ts';
import { type Mark, MarkedEvents } from './meter/marked-events.ts';
import { PassedTokens, tokensOfBytes } from './meter/passed-tokens.ts';
import { readStreamEnd, type StreamEnd } from './meter/stream-end.ts';
import { Usage, WANTED } from './meter/usage.ts';
import { TailBuffer } from './tail-buffer.ts';

export interface Metered {
  readonly tokens: TokenCounts;
  /** Whether the answer told of an error. */
  readonly failed: boolean;
  /** Whether the model wrote anything, as far as could be read. */
  readonly begun: boolean;
  /** Whether it has, where it is an error, words of the model. */
  readonly wordsInError: boolean;
  /** Whether it came to its end: a stream to the dialect's own last event. */
  readonly finished: boolean;
  /** Whether some of it could not be read: too many were decoded at once, or it is not what it says. */
  readonly unread: boolean;
  /** About how many tokens passed in it. */
  readonly passedTokens: number;
  /** Whether the output was told, by more than a first figure. */
  readonly outputTold: boolean;
}

export class Meter {
  readonly #dialect: Dialect;
  readonly #usage = new Usage();
  readonly #isEvents: boolean;
  readonly #decoder: Decoder | null;
  #reader: Reader | null = null;
  #rawBytes = 0;
  #plainBytes = 0;

  /**
   * @param contentType of the answer, lower case
   * @param encoding its content encoding, lower case, empty for none
   * @param session whose answer it is
   */
  constructor(dialect: Dialect, contentType: string, encoding: string, session: string) {
    this.#dialect = dialect;
    this.#isEvents = contentType.startsWith('text/event-stream');
    const coded = encoding !== '' && encoding !== 'identity';
    this.#decoder = coded ? new Decoder(encoding, session, (bytes) => this.#write(bytes)) : null;
  }

  see(chunk: Buffer): void {
    this.#rawBytes += chunk.length;
    if (this.#decoder) this.#decoder.write(chunk);
    else this.#write(chunk);
  }

  /** After the last byte, once. What cannot be read is not counted. Rejects for faults of our own alone. */
  async read(): Promise<Metered> {
    if (this.#decoder) await this.#decoder.end();
    const begun = this.#rawBytes > 0;
    const ended = this.#reader?.end() ?? { failed: false, finished: false, begun, wordsInError: false };
    const tokens = countTokens(this.#dialect, this.#usage.fields);
    const unread = this.#rawBytes > 0 && this.#decoder?.whole === false;
    return {
      tokens,
      ...ended,
      failed: ended.failed || this.#usage.failed,
      unread,
      wordsInError: ended.wordsInError || (unread && this.#rawBytes > MAX_ERROR_CHARS),
      outputTold: tokens.output !== null && !this.#usage.isFirst,
      passedTokens: this.#passedTokens(),
    };
  }

  #passedTokens(): number {
    // What could not be decoded passed all the same.
    if (!this.#reader || this.#plainBytes < this.#rawBytes) return tokensOfBytes(this.#rawBytes);
    return this.#reader.passedTokens(this.#plainBytes);
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#plainBytes += bytes.length;
    this.#reader ??= this.#open(bytes[0]);
    this.#reader.write(bytes);
  }

  /** Some servers name the wrong type, or none: a bracket begins no event, and a field's name no JSON. */
  #open(first: number | undefined): Reader {
    const sign = String.fromCharCode(first ?? 0);
    const events = this.#isEvents ? !'{['.includes(sign) : ':deir'.includes(sign);
    return events ? new EventReader(this.#dialect, this.#usage) : new WholeReader(this.#dialect, this.#usage);
  }
}

interface Reader {
  write(bytes: Buffer): void;
  end(): StreamEnd & Pick<Metered, 'begun' | 'wordsInError'>;
  passedTokens(bytes: number): number;
}

/** One JSON text; Gemini's streams are one, too, unless they are asked to be events. */
class WholeReader implements Reader {
  readonly #scan: JsonScan;
  readonly #content: FirstContent;

  constructor(dialect: Dialect, usage: Usage) {
    this.#content = new FirstContent(dialect);
    this.#scan = new JsonScan(WANTED, usage.take);
  }

  write(bytes: Buffer): void {
    this.#scan.write(bytes);
    this.#content.keep(bytes);
  }

  end(): ReturnType<Reader['end']> {
    this.#content.look();
    const { found: begun, inError: wordsInError } = this.#content;
    return { failed: false, finished: this.#scan.finished, begun, wordsInError };
  }

  passedTokens(bytes: number): number {
    return tokensOfBytes(bytes);
  }
}

class EventReader implements Reader {
  readonly #dialect: Dialect;
  readonly #usage: Usage;
  readonly #events: MarkedEvents;
  readonly #tail = new TailBuffer(TAIL_BYTES);
  readonly #content: FirstContent;
  readonly #passed: PassedTokens;

  constructor(dialect: Dialect, usage: Usage) {
    this.#dialect = dialect;
    this.#content = new FirstContent(dialect);
    this.#passed = new PassedTokens(dialect);
    this.#usage = usage;
    this.#events = new MarkedEvents(MARKS[dialect], new EventData(new JsonScan(WANTED, usage.take)));
  }

  write(bytes: Buffer): void {
    this.#events.write(bytes);
    this.#tail.add(bytes);
    this.#content.write(bytes);
    this.#passed.add(bytes);
  }

  passedTokens(): number {
    return this.#passed.tokens;
  }

  end(): ReturnType<Reader['end']> {
    this.#events.end();
    this.#content.look();
    const ended = readStreamEnd(this.#dialect, this.#tail.tail, this.#tail.whole);
    const { found: begun, inError: wordsInError } = this.#content;
    const failed = ended.failed || isErrorHead(this.#passed.longHead);
    return { failed, finished: ended.finished || LAST_TYPE.test(this.#usage.type), begun, wordsInError };
  }
}

const USAGE: Mark = { name: Buffer.from('usage"'), head: null };
/** Each event of Responses has the whole response in it; in the last of one that failed, its usage is `null`. */
const LAST_RESPONSE = /"response\.(?:completed|incomplete|failed)"/;
const MARKS: Readonly<Record<Dialect, Mark>> = {
  openai: USAGE,
  responses: { ...USAGE, head: LAST_RESPONSE },
  embeddings: USAGE,
  anthropic: USAGE,
  gemini: { name: Buffer.from('usageMetadata"'), head: null },
};
/** The last event may be too long for the tail. */
const LAST_TYPE = /^"(?:response\.(?:completed|incomplete|failed)|message_stop)"$/;
/** The last events of every dialect, an error with a long text among them. */
const TAIL_BYTES = 4 * 1024;
