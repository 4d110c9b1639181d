/**
 * Visits what counts of a body below its own fields, in the one pass that reads those: tells of a field that names a
 * further model, and of each text that holds media. A name in other letters leads to a model as well, since some
 * readers mind no case, but never to media.
 */
import type { BodyPart, MediaForm } from './body-parts.ts';
import { foldCase, squash } from './fold.ts';
import type { InnerVisitor, Span } from './json-bytes.ts';

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
    const { models, schema } = this.#part;
    if (!models?.test(squash(foldCase(name))) || !saysSomething(this.#body, value)) return true;
    if (schema && this.#body[value[0]] === OPEN_BRACE) return true;
    this.#finds.furtherModel(this.#path + showName(name));
    return false;
  };

  readonly inside = (name: string): PartVisitor | undefined => {
    const known = this.#children.get(name);
    if (known) return known;
    const { inside } = this.#part;
    const found = inside && (Object.hasOwn(inside, name) ? name : findFolded(inside, name));
    const part = found && inside[found];
    if (!part) return undefined;
    const exact = this.#exact && found === name;
    const child = new PartVisitor(this.#body, part, this.#finds, `${this.#path}${found}.`, exact);
    // Of other spellings there are many.
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
  const found = new Uint8Array(256);
  const names = [...Object.keys(part.media ?? {}), ...Object.keys(part.inside ?? {})];
  if (part.models) names.push('model', 'models', 'config');
  for (const name of names) found[name.charCodeAt(name.length - 1)] = 1;
  LAST_BYTES.set(part, found);
  return found;
}

const LAST_BYTES = new Map<BodyPart, Uint8Array>();
const OPEN_BRACE = 0x7b;
const MAX_EMPTY_BYTES = 64;
const EMPTY = /^(?:null|false|""|\[\s*\]|\{\s*\})$/;
