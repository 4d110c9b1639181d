/** One HTTP tool of a manifest. What it names is fixed for the session: a caller gives input, nothing else. */
import {
  invalid,
  isObject,
  parseChoice,
  parseCount,
  parseCredentialName,
  parseEntries,
  parseFields,
  withoutPrototype,
} from './fields.ts';
import { parseTemplate } from './template.ts';
import { parseToolHeaders } from './tool-headers.ts';
import { parseToolUrl } from './tool-url.ts';

export interface HttpTool {
  /** Absolute, in the one spelling that the URL parser writes, with `{field}` where the input's fields stand. */
  readonly url: string;
  readonly method: (typeof METHODS)[number];
  /** Templates by header. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ToolBody;
  /** `vault/name`, or `null` for none. */
  readonly credential: string | null;
  /** Of the whole call. */
  readonly timeoutMs: number;
  /** A JSON Schema; whether it compiles is for the gate to say. */
  readonly inputSchema: object;
  /** What the answer must fit; `null`: anything. */
  readonly outputSchema: object | null;
}

/**
 * Where the input goes that stands neither in the URL nor in a header. `none`: into the query; `json` and `form`: into
 * the body; an object: a body of that form, in whose texts fields stand.
 */
type ToolBody = (typeof BODIES)[number] | Readonly<Record<string, unknown>>;

/** A tool of a row: of a version that knew fewer fields, it may lack some. */
export type HttpToolRow = Omit<HttpTool, LaterField> & Partial<Pick<HttpTool, LaterField>>;
type LaterField = 'headers' | 'body' | 'outputSchema';

/** Throws Fault `input_invalid`. */
export function parseHttpTools(where: string, input: unknown): Readonly<Record<string, HttpTool>> {
  const names = { pattern: TOOL_NAME, are: '1 to 64 letters, digits, _ or -', entries: 'tools' };
  return parseEntries(where, input, names, parseTool);
}

export function restoreHttpTools(
  rows: Readonly<Record<string, HttpToolRow>>,
): Readonly<Record<string, HttpTool>> {
  return withoutPrototype(
    Object.fromEntries(
      Object.entries(rows).map(([name, row]) => {
        const { headers = {}, body = row.method === 'GET' ? 'none' : 'json', outputSchema = null } = row;
        return [name, { ...row, headers: withoutPrototype(headers), body, outputSchema }];
      }),
    ),
  );
}

function parseTool(where: string, input: unknown): HttpTool {
  const fields = parseFields(where, input, FIELDS);
  const credential = parseCredentialName(`${where}.credential`, fields['credential'] ?? null);
  const method = parseChoice(`${where}.method`, fields['method'], METHODS);
  const outputSchema = fields['outputSchema'] ?? null;
  return {
    url: parseToolUrl(`${where}.url`, fields['url'], credential !== null),
    method,
    headers: parseToolHeaders(`${where}.headers`, fields['headers'] ?? {}),
    body: parseBody(`${where}.body`, fields['body'] ?? (BODILESS.has(method) ? 'none' : 'json'), method),
    credential,
    timeoutMs: parseCount(`${where}.timeoutMs`, fields['timeoutMs'] ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
    inputSchema: parseSchema(`${where}.inputSchema`, fields['inputSchema']),
    outputSchema: outputSchema === null ? null : parseSchema(`${where}.outputSchema`, outputSchema),
  };
}

function parseBody(where: string, input: unknown, method: HttpTool['method']): ToolBody {
  if (method === 'GET' && input !== 'none')
    throw invalid(where, 'is none with GET: its input goes into the URL');
  if (!isObject(input)) {
    const body = BODIES.find((each) => each === input);
    if (body === undefined) throw invalid(where, `is not one of ${BODIES.join(', ')}, nor an object`);
    return body;
  }
  refuseUnfit(where, input, 0);
  for (const text of textsIn(input)) {
    if (!parseTemplate(text))
      throw invalid(where, 'has a brace that is not of a {field}; write {{ or }} for one');
  }
  return input;
}

/** The texts of a body, at any depth; the names in it are as they are. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
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
/** RFC 9110 9.3: content of these means nothing, and some servers refuse it. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'DELETE']);
const BODIES = ['none', 'json', 'form'] as const;
const FIELDS: readonly (keyof HttpTool)[] = [
  'url',
  'method',
  'headers',
  'body',
  'credential',
  'timeoutMs',
  'inputSchema',
  'outputSchema',
];
/** What every model's dialect takes as a tool's name, and one segment of a path. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 300_000;
const MAX_DEPTH = 32;
