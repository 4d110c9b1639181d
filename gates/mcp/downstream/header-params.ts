/** Which arguments of a tool its schema wants in the head of a call too (`x-mcp-header`), and how a text stands in a head. */
import { isJsonObject } from '../messages.ts';

export interface HeaderParam {
  /** From the arguments down. */
  readonly path: readonly string[];
  /** With its `Mcp-Param-`. */
  readonly header: string;
  /** 42 and 42.0 are the same. */
  readonly numeric: boolean;
}

/** Those at any depth that is reached through `properties` alone; what stands elsewhere counts for nothing. */
export function findHeaderParams(schema: object): readonly HeaderParam[] {
  const known = FOUND.get(schema);
  if (known) return known;
  const found = collect(schema, []);
  FOUND.set(schema, found);
  return found;
}

/** The text that a header's value stands for; `null` where it is badly encoded. */
export function decodeHeaderText(value: string): string | null {
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function readPath(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    root,
  );
}

function collect(schema: unknown, path: readonly string[]): HeaderParam[] {
  if (!isJsonObject(schema) || path.length > MAX_DEPTH) return [];
  const { 'x-mcp-header': name, type, properties } = schema;
  const own =
    typeof name === 'string' && TOKEN.test(name) && path.length > 0
      ? [{ path, header: `Mcp-Param-${name}`, numeric: type === 'integer' || type === 'number' }]
      : [];
  if (!isJsonObject(properties)) return own;
  return [...own, ...Object.entries(properties).flatMap(([each, inner]) => collect(inner, [...path, each]))];
}

const FOUND = new WeakMap<object, readonly HeaderParam[]>();
const ENCODED = /^=\?base64\?(.*)\?=$/s;
/** RFC 9110 5.1 */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const MAX_DEPTH = 16;
