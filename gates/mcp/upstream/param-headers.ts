/**
 * The `Mcp-Param-*` lines of a call: arguments that a modern server's schema wants in the head too (`x-mcp-header`). The
 * body stays the truth; what cannot stand in a head as it is goes as base64.
 */
import { isJsonObject, type JsonObject } from '../messages.ts';

/** Where the argument is, and what its line is called, with its `Mcp-Param-`. */
export interface ParamHeader {
  readonly path: readonly string[];
  readonly header: string;
}

/** An argument that is not there, or is no text, number or truth value, has no line. */
export function formParamHeaders(
  params: readonly ParamHeader[],
  args: JsonObject,
): Readonly<Record<string, string>> {
  const lines = params.flatMap(({ path, header }): [string, string][] => {
    const text = textOf(path.reduce<unknown>(step, args));
    return text === null ? [] : [[header, encodeHeaderText(text)]];
  });
  return Object.fromEntries(lines);
}

export function encodeHeaderText(text: string): string {
  const plain = PLAIN.test(text) && text === text.trim() && !ENCODED.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** Only these lines may be added to a request's head. */
export function keepParamHeaders(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => NAME.test(name) && PLAIN.test(value)),
  );
}

function step(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function textOf(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
      return String(value);
    case 'number':
      // Beyond these two readers may disagree.
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : String(value);
    default:
      return null;
  }
}

/** RFC 9110 5.5, without what is not ASCII; never empty. */
const PLAIN = /^[\t\x20-\x7e]+$/;
const ENCODED = /^=\?base64\?.*\?=$/;
/** RFC 9110 5.1 */
const NAME = /^mcp-param-[\w!#$%&'*+.^`|~-]+$/i;
