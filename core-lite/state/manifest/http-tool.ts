/** One HTTP tool of a manifest. What it names is fixed for the session: a caller gives input, nothing else. */
import {
  invalid,
  isObject,
  parseChoice,
  parseCount,
  parseCredentialName,
  parseEntries,
  parseFields,
} from './fields.ts';

export interface HttpTool {
  /** Absolute, in the one spelling that the URL parser writes. */
  readonly url: string;
  readonly method: (typeof METHODS)[number];
  /** `vault/name`, or `null` for none. */
  readonly credential: string | null;
  readonly timeoutMs: number;
  /** A JSON Schema; whether it compiles is for the gate to say. */
  readonly inputSchema: object;
}

/** Throws Fault `input_invalid`. */
export function parseHttpTools(where: string, input: unknown): Readonly<Record<string, HttpTool>> {
  const names = { pattern: TOOL_NAME, are: '1 to 64 letters, digits, _ or -', entries: 'tools' };
  return parseEntries(where, input, names, parseTool);
}

function parseTool(where: string, input: unknown): HttpTool {
  const fields = parseFields(where, input, ['url', 'method', 'credential', 'timeoutMs', 'inputSchema']);
  const credential = parseCredentialName(`${where}.credential`, fields['credential'] ?? null);
  return {
    url: parseUrl(`${where}.url`, fields['url'], credential !== null),
    method: parseChoice(`${where}.method`, fields['method'], METHODS),
    credential,
    timeoutMs: parseCount(`${where}.timeoutMs`, fields['timeoutMs'] ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
    inputSchema: parseSchema(`${where}.inputSchema`, fields['inputSchema']),
  };
}

function parseUrl(where: string, input: unknown, carriesSecret: boolean): string {
  const url = typeof input === 'string' && input.length <= MAX_URL_LENGTH ? URL.parse(input) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(where, 'is not an http or https URL');
  if (url.username || url.password) throw invalid(where, 'holds a user or password: name a credential');
  if (url.hash) throw invalid(where, 'has a fragment, which is never sent');
  // A secret never crosses a network in the clear.
  if (carriesSecret && url.protocol !== 'https:')
    throw invalid(where, 'has a credential, so it must be https');
  return url.href;
}

function parseSchema(where: string, input: unknown): object {
  if (!isObject(input)) throw invalid(where, 'is not a JSON Schema object');
  refuseUnfit(where, input, 0);
  return input;
}

/** What neither the database's JSON nor a schema compiler should meet: NUL, half a character, endless depth. */
function refuseUnfit(where: string, value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw invalid(where, `is nested deeper than ${MAX_DEPTH}`);
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw invalid(where, 'has a text that is not well-formed');
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    refuseUnfit(where, name, depth);
    refuseUnfit(where, inner, depth + 1);
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** What every model's dialect takes as a tool's name, and one segment of a path. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_URL_LENGTH = 2048;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 300_000;
const MAX_DEPTH = 32;
