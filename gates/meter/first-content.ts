/**
 * Whether the model wrote anything: looked for from an answer's beginning until it is found, which is mostly in its first
 * events. What says that the answer has begun, that it lives or that it failed is none; what cannot be read is taken for
 * some. It keeps the beginning of one event, and looks no further than what may come before an error.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { holdsWords, nameWords, says } from './error-text.ts';
import { EventData } from './event-data.ts';
import { asObject, type Fields } from './usage.ts';

export class FirstContent {
  readonly #dialect: Dialect;
  readonly #data = new EventData({ reset: () => {}, write: (bytes) => this.keep(bytes) });
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #lookedBytes = 0;
  #found = false;
  #inError = false;
  /** Of an event that is too long to be kept: whether the whole answer in it has any output. */
  #hasOutput = false;
  #lastText = '';

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  get found(): boolean {
    return this.#found;
  }

  /** Whether it would be the model's even if the answer is an error. */
  get inError(): boolean {
    return this.#inError;
  }

  /** Takes a piece of a stream of events. */
  write(chunk: Buffer): void {
    for (let at = 0; !this.#found && at < chunk.length; ) {
      // A search for the end of a line goes no further than an event is long.
      const piece = chunk.subarray(at, at + MAX_PIECE_BYTES);
      const end = this.#data.write(piece);
      at += end < 0 ? piece.length : end;
      this.#lookedBytes += end < 0 ? piece.length : end;
      if (end >= 0) this.look();
      this.#found ||= this.#lookedBytes > MAX_BYTES[this.#dialect];
    }
  }

  /** Takes a piece of one JSON text. */
  keep(bytes: Buffer): void {
    if (this.#found) return;
    if (this.#keptBytes > MAX_KEPT_BYTES) {
      this.#lookForOutput(bytes);
      return;
    }
    this.#kept.push(Buffer.from(bytes.subarray(0, MAX_KEPT_BYTES)));
    this.#keptBytes += bytes.length;
  }

  /** The text is over, or the event. */
  look(): void {
    if (this.#found) return;
    const text = Buffer.concat(this.#kept).toString('utf8').trim();
    const whole = this.#keptBytes <= MAX_KEPT_BYTES;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#found = this.#tells(text, whole);
    this.#hasOutput = false;
    this.#lastText = '';
  }

  #lookForOutput(bytes: Buffer): void {
    const text = this.#lastText + bytes.toString('latin1');
    this.#hasOutput ||= OUTPUT.test(text);
    this.#lastText = text.slice(-MAX_OUTPUT_CHARS);
  }

  #tells(text: string, whole: boolean): boolean {
    if (text === '' || text === '[DONE]') return false;
    const data = whole ? parse(text) : undefined;
    this.#inError = holdsWords(text, data);
    if (whole) return tellsContent(this.#dialect, data) || (tellsError(data) && this.#inError);
    const type = FIRST_TYPE.exec(text)?.[1] ?? '';
    // Each event of Responses may hold all that was asked.
    return !QUIET.has(type) || type === 'error' || (type === 'response.failed' && this.#hasOutput);
  }
}

function tellsContent(dialect: Dialect, data: unknown): boolean {
  if (Array.isArray(data)) return data.some((each) => tellsContent(dialect, each));
  const fields = asObject(data);
  if (!fields) return true;
  switch (dialect) {
    case 'openai':
      return listed(fields['choices']).some(({ delta, message, text }) => says([delta, message, text]));
    case 'embeddings':
      return says(fields['data']);
    case 'responses':
      return tellsByType(fields, 'output');
    case 'anthropic':
      return tellsByType(fields, 'content');
    case 'gemini': {
      const { candidates } = asObject(fields['response']) ?? fields;
      return listed(candidates).some(({ content }) => says(asObject(content)?.['parts']));
    }
    default:
      return dialect satisfies never;
  }
}

/** @param name of what an answer has that is no stream */
function tellsByType(fields: Fields, name: string): boolean {
  const { type } = fields;
  if (type === 'response.failed') return nameWords(fields).some(says);
  if (typeof type === 'string' && !WHOLE.has(type)) return !QUIET.has(type);
  return says(fields[name]);
}

function tellsError(data: unknown): boolean {
  if (Array.isArray(data)) return data.some(tellsError);
  return says(asObject(data)?.['error']);
}

function listed(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? value : []).map((each) => asObject(each) ?? {});
}

/** `undefined` where it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The types of events that have nothing of the model. */
const QUIET: ReadonlySet<string> = new Set([
  'ping',
  'keepalive',
  'error',
  'message_start',
  'message_stop',
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.failed',
]);
/** Of an answer that is no stream. */
const WHOLE: ReadonlySet<string> = new Set(['message']);
const FIRST_TYPE = /^\{\s*"type"\s*:\s*"([\w.]+)"/;
/** No other error is larger, nor what comes before one in the other dialects. */
const MAX_KEPT_BYTES = 16 * 1024;
const OUTPUT = /"output" ?: ?\[ ?\{/;
const MAX_OUTPUT_CHARS = 16;
const MAX_PIECE_BYTES = 4 * 1024;
/** More than a thousand events that say only that the model lives, or what was asked a few times. */
const MAX_BYTES: Readonly<Record<Dialect, number>> = {
  openai: 64 * 1024,
  embeddings: 64 * 1024,
  anthropic: 64 * 1024,
  gemini: 64 * 1024,
  responses: 512 * 1024,
};
