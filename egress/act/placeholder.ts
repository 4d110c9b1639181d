/**
 * Puts secrets in the place of their placeholders, where clients insist on sending a key of their own: in headers, in
 * the base64 of a Basic value, in query parameters however they are encoded. All are replaced in one pass, so that
 * nothing inside a secret is taken for a placeholder.
 */
import { foldName, type HeaderLine } from '../http1/head.ts';
import { namesParameter } from '../places.ts';
import { editParameters, encodeParameter } from './query.ts';

/** What stands for what, and where. */
export interface Fill {
  readonly placeholder: string;
  readonly headers: readonly string[];
  readonly query: readonly string[];
  readonly value: string;
}

export interface Filled {
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  /** Those whose placeholder was there. */
  readonly used: ReadonlySet<Fill>;
}

/** @returns `null` where a place that a placeholder may stand in holds something else, so a key that is not ours */
export function fillPlaceholders(
  request: { readonly target: string; readonly headers: readonly HeaderLine[] },
  fills: readonly Fill[],
): Filled | null {
  const used = new Set<Fill>();
  let foreign = false;
  const note = (fill: Fill) => used.add(fill);
  const headers = request.headers.map((line) => {
    const here = fills.filter((fill) => fill.headers.some((name) => foldName(name) === foldName(line.name)));
    if (here.length === 0) return line;
    const filled = fillLine(line, here, note);
    foreign ||= filled === line;
    return filled;
  });
  const target = editParameters(request.target, (name, parameter) => {
    const here = fills.filter((fill) => fill.query.some((own) => namesParameter(name, own)));
    if (here.length === 0) return parameter;
    const filled = name + fill(parameter.slice(name.length), here, ENCODED, note);
    foreign ||= filled === parameter;
    return filled;
  });
  return foreign ? null : { target, headers, used };
}

/** The line with its spelling kept; the very line where no placeholder stands in it. */
function fillLine(line: HeaderLine, fills: readonly Fill[], note: (fill: Fill) => void): HeaderLine {
  const { value } = line;
  const filled = fill(value, fills, PLAIN, note);
  const whole = filled === value ? fillBasic(value, fills, note) : filled;
  if (whole === value) return line;
  const start = line.raw.indexOf(':') + 1;
  const raw = line.raw.slice(0, start) + line.raw.slice(start).replace(value, () => whole);
  return { ...line, value: whole, raw };
}

/** RFC 7617: `user:password` in base64, whose bytes stay but for the placeholder. Any alphabet and padding is read. */
function fillBasic(value: string, fills: readonly Fill[], note: (fill: Fill) => void): string {
  const [, scheme, encoded] = BASIC.exec(value) ?? [];
  if (scheme === undefined || encoded === undefined) return value;
  const pair = Buffer.from(encoded, 'base64').toString('latin1');
  const filled = fill(pair, fills, PLAIN, note);
  return filled === pair ? value : scheme + Buffer.from(filled, 'latin1').toString('base64');
}

/** How a placeholder may be spelt in a text, and how a secret is written there. */
interface Spelling {
  readonly pattern: (placeholder: string) => string;
  readonly write: (value: string) => string;
}

function fill(text: string, fills: readonly Fill[], spelling: Spelling, note: (fill: Fill) => void): string {
  // The longest first: one placeholder may begin another.
  const ordered = [...fills].sort((one, other) => other.placeholder.length - one.placeholder.length);
  const pattern = ordered.map(({ placeholder }) => `(${spelling.pattern(placeholder)})`).join('|');
  return text.replace(new RegExp(pattern, 'g'), (...match) => {
    const found = ordered[
      match.slice(1, 1 + ordered.length).findIndex((group) => group !== undefined)
    ] as Fill;
    note(found);
    return spelling.write(found.value);
  });
}

const BASIC = /^(basic +)([A-Za-z0-9+/_-]+=*)$/i;
const PLAIN: Spelling = {
  pattern: (placeholder) => placeholder.replaceAll('.', '\\.'),
  write: (value) => value,
};
const ENCODED: Spelling = {
  pattern: (placeholder) => [...placeholder].map(eitherSpelling).join(''),
  write: encodeParameter,
};

/** A character itself, or its percent-encoding in either case. */
function eitherSpelling(char: string): string {
  const hex = char.charCodeAt(0).toString(16).padStart(2, '0');
  const digits = [...hex].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
  return `(?:${char === '.' ? '\\.' : char}|%${digits})`;
}
