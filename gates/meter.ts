/**
 * What an answer says it used. Events are not parsed as they pass: the beginning and the end of a stream are kept, and
 * only the lines in them that speak of usage are read, once, when the stream has ended. A short JSON answer is kept
 * whole; a compressed one is decoded from a copy, within limits. The answer itself is never touched.
 */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import type { TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import { TailBuffer } from './tail-buffer.ts';

export interface Metered {
  readonly tokens: TokenCounts;
  /** Whether the stream told of an error. */
  readonly failed: boolean;
  /** Whether it came to the dialect's own last event. */
  readonly finished: boolean;
}

export class Meter {
  readonly #dialect: Dialect;
  readonly #events: boolean;
  readonly #encoding: string;
  /** What is kept of an answer that is not kept whole. */
  #window: TailBuffer | null = null;
  #whole: Buffer[] | null;
  #bytes = 0;

  /**
   * @param contentType of the answer, lower case
   * @param encoding its content encoding, empty for none
   */
  constructor(dialect: Dialect, contentType: string, encoding: string) {
    this.#dialect = dialect;
    this.#events = contentType.startsWith('text/event-stream');
    this.#encoding = encoding === 'identity' ? '' : encoding;
    this.#whole = this.#events && this.#encoding === '' ? null : [];
  }

  see(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_WHOLE_BYTES) this.#whole = null;
    if (this.#whole) {
      this.#whole.push(chunk);
    } else if (this.#encoding === '') {
      this.#window ??= new TailBuffer(HEAD_BYTES, TAIL_BYTES);
      this.#window.add(chunk);
    }
  }

  /** Never rejects: what cannot be read was not counted. */
  async read(): Promise<Metered> {
    const decoded = this.#whole ? await decode(Buffer.concat(this.#whole), this.#encoding) : null;
    this.#whole = null;
    const texts = decoded ? [decoded] : this.#window ? [this.#window.head, this.#window.tail] : [];
    const lines = texts.map((bytes) => bytes.toString('utf8'));
    const usage = this.#events || !decoded ? readEvents(lines) : readWhole(lines[0] ?? '');
    const last = lines.at(-1) ?? '';
    return {
      tokens: countTokens(this.#dialect, usage),
      failed: this.#events && ERROR_EVENT.test(last),
      finished: LAST_EVENT[this.#dialect].test(last),
    };
  }
}

type Fields = Readonly<Record<string, unknown>>;

function readWhole(text: string): Fields {
  const usage = asObject(parse(text))?.['usage'];
  return asObject(usage) ?? {};
}

/** The fields of every usage that is told, a later one over an earlier: both dialects tell running totals. */
function readEvents(texts: readonly string[]): Fields {
  const merged: Record<string, unknown> = {};
  for (const line of texts.flatMap((text) => text.split(/[\r\n]/))) {
    if (!line.startsWith('data:') || !line.includes('"usage"')) continue;
    const event = asObject(parse(line.slice('data:'.length)));
    const usage = asObject(event?.['usage']) ?? asObject(asObject(event?.['message'])?.['usage']);
    for (const [name, value] of Object.entries(usage ?? {})) if (value !== null) merged[name] = value;
  }
  return merged;
}

/** One count for both dialects: OpenAI's input holds what came from the cache, Anthropic's leaves it out. */
function countTokens(dialect: Dialect, usage: Fields): TokenCounts {
  if (dialect === 'openai') {
    const read = asObject(usage['prompt_tokens_details']);
    return {
      input: count(usage['prompt_tokens']),
      output: count(usage['completion_tokens']),
      cached: count(read?.['cached_tokens']),
      cacheWrite: count(read?.['cache_write_tokens']),
      reasoning: count(asObject(usage['completion_tokens_details'])?.['reasoning_tokens']),
    };
  }
  const fresh = count(usage['input_tokens']);
  const cached = count(usage['cache_read_input_tokens']);
  const cacheWrite = count(usage['cache_creation_input_tokens']);
  return {
    input: fresh === null ? null : fresh + (cached ?? 0) + (cacheWrite ?? 0),
    output: count(usage['output_tokens']),
    cached,
    cacheWrite,
    reasoning: null,
  };
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function asObject(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function decode(bytes: Buffer, encoding: string): Promise<Buffer | null> {
  if (encoding === '') return bytes;
  // An answer that was cut off is decoded as far as it goes.
  const decoder = DECODERS[encoding];
  return decoder ? decoder(bytes, { maxOutputLength: MAX_DECODED_BYTES }).catch(() => null) : null;
}

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip) as Decoder,
  deflate: promisify(inflate) as Decoder,
  br: promisify(brotliDecompress) as Decoder,
  zstd: promisify(zstdDecompress) as Decoder,
};
const ERROR_EVENT = /(?:^|[\r\n])event: ?error[\r\n]|(?:^|[\r\n])data: ?\{"error":/;
const LAST_EVENT: Readonly<Record<Dialect, RegExp>> = {
  openai: /(?:^|[\r\n])data: ?\[DONE\]/,
  responses: /(?:^|[\r\n])event: ?response\.(?:completed|incomplete|failed)[\r\n]/,
  embeddings: /^/,
  anthropic: /(?:^|[\r\n])event: ?message_stop[\r\n]/,
  gemini: /"finishReason"/,
};
/** Anthropic tells what was read in its first event, both tell what was written in one of the last. */
const HEAD_BYTES = 4 * 1024;
const TAIL_BYTES = 4 * 1024;
const MAX_WHOLE_BYTES = 1024 * 1024;
const MAX_DECODED_BYTES = 8 * 1024 * 1024;
