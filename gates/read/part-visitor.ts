/**
 * Visits what counts of a body below its own fields, in the one pass that reads those: tells of a field that names a
 * further model, or what calls one, and of each text that holds media. A name in other letters leads to a model as well, since some
 * readers mind no case, but never to media.
 */
import type { BodyPart, MediaForm } from './body-parts.ts';
import { foldCase, squash } from './fold.ts';
import { type InnerVisitor, parseText, type Span } from './json-bytes.ts';

export interface PartFinds {
  /** @param path as a caller may be shown it */
  readonly furtherModel: (path: string) => void;
  readonly media: (form: MediaForm, text: Span, object: Span) => void;
}

export class PartVisitor implements InnerVisitor {
  readonly lastBytes: Uint8Array;
  readonly #body: Buffer;
  readonly #part: BodyPart;
  readonly #path: string;
  /** Whether every name on the way to it is written as its dialect has it. */
  readonly #exact: boolean;
  readonly #finds: PartFinds;
  readonly #children = new Map<string, PartVisitor>();

  constructor(body: Buffer, part: BodyPart, finds: PartFinds, path = '', exact = true) {
    this.#body = body;
    this.#part = part;
    this.#finds = finds;
    this.#path = path;
    this.#exact = exact;
    this.lastBytes = lastBytesOf(part);
  }

  readonly field = (name: string, value: Span): boolean => {
    if (!this.#namesModel(name, value) && !this.#namesCaller(name, value)) return true;
    this.#finds.furtherModel(this.#path + showName(name));
    return false;
  };

  #namesModel(name: string, value: Span): boolean {
    const { models, schema } = this.#part;
    if (!models?.test(squash(foldCase(name))) || !saysSomething(this.#body, value)) return false;
    return !schema || this.#body[value[0]] !== OPEN_BRACE;
  }

  #namesCaller(name: string, value: Span): boolean {
    const { callers } = this.#part;
    const folded = callers && foldCase(name);
    if (!folded || !Object.hasOwn(callers, folded) || value[1] - value[0] > MAX_CALLER_BYTES) return false;
    return callers[folded]?.test(foldCase(parseText(this.#body, value)?.trim() ?? '')) === true;
  }

  readonly inside = (name: string): PartVisitor | undefined => {
    const known = this.#children.get(name);
    if (known) return known;
    const { inside, others } = this.#part;
    const found = inside && (Object.hasOwn(inside, name) ? name : findFolded(inside, name));
    const part = found ? inside[found] : others;
    if (!part) return undefined;
    const exact = this.#exact && found === name;
    const path = `${this.#path}${found ?? showName(name)}.`;
    const child = new PartVisitor(this.#body, part, this.#finds, path, exact);
    // Of other spellings, and other names, there are many.
    if (found === name) this.#children.set(name, child);
    return child;
  };

  wantsText(name: string): boolean {
    return this.#exact && this.#part.media !== undefined && Object.hasOwn(this.#part.media, name);
  }

  longText(name: string, text: Span, object: Span): void {
    const form = this.#part.media?.[name];
    if (form) this.#finds.media(form, text, object);
  }
}

function findFolded(inside: Readonly<Record<string, BodyPart>>, name: string): string | undefined {
  const folded = foldCase(name);
  return Object.keys(inside).find((each) => foldCase(each) === folded);
}

/** A field that is empty names nothing. */
function saysSomething(body: Buffer, [from, to]: Span): boolean {
  if (to - from > MAX_EMPTY_BYTES) return true;
  return !EMPTY.test(body.toString('latin1', from, to));
}

/** A name that is not ours is shown only where it is a plain word. */
function showName(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : '(a field)';
}

/** The last bytes of the names that a part tells of. */
function lastBytesOf(part: BodyPart): Uint8Array {
  const known = LAST_BYTES.get(part);
  if (known) return known;
  const found = new Uint8Array(256).fill(part.others ? 1 : 0);
  const names = [part.media, part.inside, part.callers].flatMap((each) => Object.keys(each ?? {}));
  if (part.models) names.push(...MODEL_NAMES);
  for (const name of names) found[name.charCodeAt(name.length - 1)] = 1;
  LAST_BYTES.set(part, found);
  return found;
}

const LAST_BYTES = new Map<BodyPart, Uint8Array>();
/** One for each last letter of a name that `models` of any part may look for. */
const MODEL_NAMES = [
  'model',
  'models',
  'modelName',
  'modelList',
  'config',
  'fallback',
  'embeddingDependency',
];
const OPEN_BRACE = 0x7b;
/** With each letter escaped. */
const MAX_CALLER_BYTES = 256;
const MAX_EMPTY_BYTES = 64;
const EMPTY = /^(?:null|false|""|\[\s*\]|\{\s*\})$/;
