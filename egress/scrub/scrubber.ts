/**
 * Takes the secrets of an exchange out of what the origin answers: out of the values of headers and trailers, and out of
 * text bodies. A help, not a promise: an origin that was given a secret can always return it in disguise. It never changes
 * how many bytes an answer has, nor the names of its headers.
 */
import type { Secret } from '../../core-lite/secret.ts';
import type { HeaderLine } from '../http1/head.ts';
import { type BodyScrubber, type Tally, UNTOUCHED } from './body-scrubber.ts';
import { CodedBody } from './coded-body.ts';
import { contentOf, isStreamed } from './content.ts';
import { Finder } from './finder.ts';
import { type Forms, formsOf } from './forms.ts';
import { TextBody } from './text-body.ts';

/** What of an answer's head is looked at. */
interface AnswerHead {
  readonly status: number;
  /** The status line of HTTP/1.1: its reason phrase is the origin's text too. */
  readonly line?: string;
  readonly headers: readonly HeaderLine[];
}

export class Scrubber {
  /** `null` where no secret was put on, and so none can come back. */
  readonly #forms: Forms | null;
  readonly #tally: Tally = { masked: 0 };

  readonly #holder: string;

  /**
   * @param secrets that were put on the request
   * @param holder the environment that asked: what is decoded for one must not take the place of others
   */
  constructor(secrets: readonly Secret[], holder: string) {
    this.#holder = holder;
    this.#forms = secrets.length > 0 ? formsOf(secrets) : null;
  }

  /** How often a form of a secret was masked. */
  get masked(): number {
    return this.#tally.masked;
  }

  /** The head with every form in it masked; almost always the very same. Also for interim answers. */
  head<Head extends AnswerHead>(head: Head): Head {
    if (!this.#forms) return head;
    const all = [head.line ?? '', ...head.headers.map(({ raw }) => raw)].join('\n');
    if (this.#find(all).length === 0) return head;
    const line = head.line === undefined ? {} : { line: this.#mask(head.line) };
    return { ...head, ...line, headers: head.headers.map((each) => this.line(each)) };
  }

  /** A header or trailer line with every form in its value masked. */
  line(line: HeaderLine): HeaderLine {
    const { name, value, raw } = line;
    // What frames the message is read by machines, and a masked length would be another.
    if (FRAMES.has(name)) return line;
    const colon = raw.indexOf(':', 1) + 1;
    const masked = raw.slice(0, colon) + this.#mask(raw.slice(colon));
    const start = raw.indexOf(value, colon);
    return { name, value: masked.slice(start, start + value.length), raw: masked };
  }

  /** What the body passes through. @param head as it came; its body, where it has one, follows */
  body(head: AnswerHead): BodyScrubber {
    const content = contentOf(head.status, head.headers);
    if (!this.#forms || content === 'other') return UNTOUCHED;
    if (content === 'text') return new TextBody(this.#forms, this.#tally);
    return new CodedBody(content, this.#forms, this.#tally, this.#holder, isStreamed(head.headers));
  }

  #mask(text: string): string {
    const found = this.#find(text);
    if (found.length === 0) return text;
    const bytes = Buffer.from(text, 'latin1');
    let maskedTo = 0;
    for (let i = 0; i < found.length; i += 2) {
      const [start, end] = [found[i] as number, found[i + 1] as number];
      if (start >= maskedTo) this.#tally.masked += 1;
      maskedTo = end;
      bytes.fill('*', start, end);
    }
    return bytes.toString('latin1');
  }

  #find(text: string): readonly number[] {
    if (!this.#forms) return [];
    return new Finder(this.#forms).scan(Buffer.from(text, 'latin1'), 0, text.length);
  }
}

const FRAMES: ReadonlySet<string> = new Set([':status', 'content-length', 'transfer-encoding']);
