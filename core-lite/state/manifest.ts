/**
 * A session's manifest: which models and HTTP tools its runs may call. It is parsed once, when the session opens, and
 * pinned: what is not in it is not there for the session. Unknown fields are refused, since a misspelt one would be a
 * limit that is off.
 */
import { Fault } from '../errors.ts';

export interface Manifest {
  /** `null`: every model of the catalogue. */
  readonly models: readonly string[] | null;
  /** By name. Has no prototype, so that no name finds what nobody declared. */
  readonly httpTools: Readonly<Record<string, HttpTool>>;
}

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

/** @param input JSON. Throws Fault `input_invalid` with the first thing that is wrong and where it stands. */
export function parseManifest(input: unknown): Manifest {
  const fields = parseFields('manifest', input, ['models', 'httpTools']);
  return {
    models: fields['models'] === undefined ? null : parseModels(fields['models']),
    httpTools: parseTools(fields['httpTools'] ?? {}),
  };
}

/** The manifest of a row, which `parseManifest` made. */
export function restoreManifest({ models, httpTools }: Manifest): Manifest {
  return { models, httpTools: withoutPrototype(httpTools) };
}

/** The credentials that its tools name, each once. */
export function listCredentialNames(manifest: Manifest): string[] {
  const names = Object.values(manifest.httpTools).flatMap(({ credential }) => credential ?? []);
  return [...new Set(names)];
}

function parseModels(input: unknown): readonly string[] | null {
  if (input === null) return null;
  if (!Array.isArray(input)) throw invalid('manifest.models', 'is not a list of names, nor null');
  if (input.length > MAX_ENTRIES) throw invalid('manifest.models', `has more than ${MAX_ENTRIES} names`);
  const seen = new Set<string>();
  for (const [place, name] of input.entries()) {
    const where = `manifest.models[${place}]`;
    if (typeof name !== 'string' || !MODEL_NAME.test(name)) throw invalid(where, 'is not a model’s name');
    if (seen.has(name)) throw invalid(where, 'is named twice');
    seen.add(name);
  }
  return [...seen];
}

function parseTools(input: unknown): Readonly<Record<string, HttpTool>> {
  if (!isObject(input)) throw invalid('manifest.httpTools', 'is not an object');
  const entries = Object.entries(input);
  if (entries.length > MAX_ENTRIES) throw invalid('manifest.httpTools', `has more than ${MAX_ENTRIES} tools`);
  return withoutPrototype(Object.fromEntries(entries.map(([name, tool]) => [name, parseTool(name, tool)])));
}

function parseTool(name: string, input: unknown): HttpTool {
  // The name is not repeated: it may be anything.
  if (!TOOL_NAME.test(name) || name in {}) {
    throw invalid('manifest.httpTools', 'has a name that is not 1 to 64 letters, digits, _ or -');
  }
  const where = `manifest.httpTools.${name}`;
  const fields = parseFields(where, input, ['url', 'method', 'credential', 'timeoutMs', 'inputSchema']);
  const credential = parseCredentialName(`${where}.credential`, fields['credential'] ?? null);
  return {
    url: parseUrl(`${where}.url`, fields['url'], credential !== null),
    method: parseMethod(`${where}.method`, fields['method']),
    credential,
    timeoutMs: parseTimeout(`${where}.timeoutMs`, fields['timeoutMs'] ?? DEFAULT_TIMEOUT_MS),
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

function parseMethod(where: string, input: unknown): HttpTool['method'] {
  const method = METHODS.find((each) => each === input);
  if (!method) throw invalid(where, `is not one of ${METHODS.join(', ')}`);
  return method;
}

function parseCredentialName(where: string, input: unknown): string | null {
  if (input === null) return null;
  if (typeof input === 'string' && CREDENTIAL_NAME.test(input)) return input;
  throw invalid(where, 'is not vault/name');
}

function parseTimeout(where: string, input: unknown): number {
  const whole = typeof input === 'number' && Number.isInteger(input) && input >= 1 && input <= MAX_TIMEOUT_MS;
  if (!whole) throw invalid(where, `is not a whole number from 1 to ${MAX_TIMEOUT_MS}`);
  return input;
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

function parseFields(where: string, input: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(input)) throw invalid(where, 'is not an object');
  if (Object.keys(input).some((name) => !known.includes(name))) {
    throw invalid(where, `has a field beside ${known.join(', ')}`);
  }
  return input;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutPrototype<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.assign(Object.create(null), record);
}

function invalid(where: string, what: string): Fault {
  return new Fault('input_invalid', `${where} ${what}`);
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const MODEL_NAME = /^[A-Za-z0-9][\w.:@/-]{0,127}$/;
/** What every model's dialect takes as a tool's name, and one segment of a path. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const NAME = '[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?';
const CREDENTIAL_NAME = new RegExp(`^${NAME}/${NAME}$`);
const MAX_ENTRIES = 200;
const MAX_URL_LENGTH = 2048;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 300_000;
const MAX_DEPTH = 32;
