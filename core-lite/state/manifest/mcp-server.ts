/** One MCP server of a manifest: where it is, what its session may see of it and what it may ask of the session. */
import { parseUpstreamUrl } from '../../network/upstream-url.ts';
import {
  invalid,
  parseChoice,
  parseCount,
  parseCredentialName,
  parseEntries,
  parseFields,
  parseFlag,
  parseTexts,
} from './fields.ts';

export interface McpServer {
  /** https, or http that only goes into a network the operator opened. */
  readonly url: string;
  /** `auto`: it is found out. */
  readonly transport: (typeof TRANSPORTS)[number];
  /** `vault/name`, or `null` for none. */
  readonly credential: string | null;
  /** Requests go there instead, with its credential beside the server's. */
  readonly via: { readonly url: string; readonly credential: string | null } | null;
  /** It keeps nothing between calls, so that starting it anew loses nothing. */
  readonly stateless: boolean;
  /** Of a whole call; progress does not extend it. */
  readonly timeoutMs: number;
  /** Names, `*` for any part of one. A deny outranks every allow. */
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  /** What a tool's annotations must say for it to be seen. */
  readonly hints: (typeof HINTS)[number];
  readonly resultBytes: number;
  readonly onLargeResult: (typeof ON_LARGE_RESULT)[number];
  /** What becomes of a tool whose description, schema or annotations changed under the session. */
  readonly onChangedTool: (typeof ON_CHANGED_TOOL)[number];
  /** What the server may ask of the client. */
  readonly allow: { readonly sampling: boolean; readonly elicitation: boolean; readonly roots: boolean };
}

/** Throws Fault `input_invalid`. */
export function parseMcpServers(where: string, input: unknown): Readonly<Record<string, McpServer>> {
  return parseEntries(where, input, NAMES, parseServer);
}

function parseServer(where: string, input: unknown): McpServer {
  const fields = { ...DEFAULTS, ...dropUndefined(parseFields(where, input, FIELDS)) };
  return {
    url: parseUrl(`${where}.url`, fields.url),
    transport: parseChoice(`${where}.transport`, fields.transport, TRANSPORTS),
    credential: parseCredentialName(`${where}.credential`, fields.credential),
    via: fields.via === null ? null : parseVia(`${where}.via`, fields.via),
    stateless: parseFlag(`${where}.stateless`, fields.stateless),
    timeoutMs: parseCount(`${where}.timeoutMs`, fields.timeoutMs, MAX_TIMEOUT_MS),
    tools: parseTools(`${where}.tools`, fields.tools),
    hints: parseChoice(`${where}.hints`, fields.hints, HINTS),
    resultBytes: parseCount(`${where}.resultBytes`, fields.resultBytes, MAX_RESULT_BYTES),
    onLargeResult: parseChoice(`${where}.onLargeResult`, fields.onLargeResult, ON_LARGE_RESULT),
    onChangedTool: parseChoice(`${where}.onChangedTool`, fields.onChangedTool, ON_CHANGED_TOOL),
    allow: parseAllow(`${where}.allow`, fields.allow),
  };
}

function parseUrl(where: string, input: unknown): string {
  if (typeof input !== 'string' || input.length > MAX_URL_LENGTH) throw invalid(where, 'is not a URL');
  const url = parseUpstreamUrl(input);
  if (typeof url === 'string') throw invalid(where, `is not called: ${url}`);
  return input;
}

function parseVia(where: string, input: unknown): McpServer['via'] {
  const fields = parseFields(where, input, ['url', 'credential']);
  return {
    url: parseUrl(`${where}.url`, fields['url']),
    credential: parseCredentialName(`${where}.credential`, fields['credential'] ?? null),
  };
}

function parseTools(where: string, input: unknown): McpServer['tools'] {
  const { allow = ['*'], deny = [] } = parseFields(where, input, ['allow', 'deny']);
  return {
    allow: parseTexts(`${where}.allow`, allow, TOOL_PATTERNS),
    deny: parseTexts(`${where}.deny`, deny, TOOL_PATTERNS),
  };
}

function parseAllow(where: string, input: unknown): McpServer['allow'] {
  const fields = parseFields(where, input, ['sampling', 'elicitation', 'roots']);
  const flag = (name: string): boolean => parseFlag(`${where}.${name}`, fields[name] ?? false);
  return { sampling: flag('sampling'), elicitation: flag('elicitation'), roots: flag('roots') };
}

function dropUndefined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const TRANSPORTS = ['auto', 'streamable-http', 'sse'] as const;
const HINTS = ['any', 'not_destructive', 'read_only'] as const;
const ON_LARGE_RESULT = ['error', 'cut'] as const;
const ON_CHANGED_TOOL = ['report', 'refuse'] as const;
/** Short, since it stands before the names of its tools where names collide. */
const NAMES = {
  pattern: /^[a-z0-9][a-z0-9_-]{0,31}$/,
  are: '1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit',
  entries: 'servers',
};
/** Of any spelling: servers name tools as they like, and each must be deniable. */
const TOOL_PATTERNS = {
  pattern: /^[^\p{Cc}\p{Cs}]{1,256}$/u,
  is: 'a tool’s name, with * for any part of it',
  are: 'names of tools',
};
const DEFAULTS: Readonly<Record<keyof McpServer, unknown>> = {
  url: null,
  transport: 'auto',
  credential: null,
  via: null,
  stateless: false,
  timeoutMs: 300_000,
  tools: {},
  hints: 'any',
  resultBytes: 1024 * 1024,
  onLargeResult: 'error',
  onChangedTool: 'report',
  allow: {},
};
const FIELDS = Object.keys(DEFAULTS);
const MAX_URL_LENGTH = 2048;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
