/**
 * What an answer tells, gathered: every usage in it, the later over the earlier since providers tell running totals,
 * and whether it told of an error. It reads the places of all dialects: none has another meaning in another dialect.
 */
import type { Wanted } from './json-scan.ts';

export type Fields = Readonly<Record<string, unknown>>;

export class Usage {
  /** Without a prototype: the names are anybody's. */
  readonly #fields: Record<string, unknown> = Object.create(null);
  #failed = false;
  #type = '';
  #first = false;
  #later = false;

  /** Takes a value that `WANTED` names. */
  readonly take = (path: string, text: string): void => {
    if (path === 'type') this.#type = text;
    else if (path.endsWith('error')) this.#failed ||= !NO_ERROR.has(text);
    else {
      const usage = asObject(parse(text)) ?? {};
      if (path === 'message.usage') this.#first = true;
      else this.#later ||= typeof usage['output_tokens'] === 'number';
      this.#merge(usage);
    }
  };

  get fields(): Fields {
    return this.#fields;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** Whether the output is the figure of Anthropic's first event: it was told before anything was written. */
  get isFirst(): boolean {
    return this.#first && !this.#later;
  }

  /** The type of the event that was read last, as it stands in JSON. */
  get type(): string {
    return this.#type;
  }

  /** A total never shrinks to nothing: a zero or `null` that comes later is a field that a server left empty. */
  #merge(usage: Fields): void {
    for (const [name, value] of Object.entries(usage)) {
      if (value === null || (value === 0 && typeof this.#fields[name] === 'number')) continue;
      this.#fields[name] = value;
    }
  }
}

export function asObject(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * `message` is Anthropic's first event, `response` every event of Responses and what some of Google's services wrap
 * theirs in, `x_groq` Groq's last chunk.
 */
export const WANTED: Wanted = {
  paths: new Set([
    'usage',
    'usageMetadata',
    'error',
    'type',
    'message.usage',
    'response.usage',
    'response.usageMetadata',
    'response.error',
    'x_groq.usage',
  ]),
  parents: new Set(['message', 'response', 'x_groq']),
};
const NO_ERROR: ReadonlySet<string> = new Set(['null', 'false', '""', '{}']);
