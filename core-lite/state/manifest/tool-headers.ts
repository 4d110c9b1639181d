/**
 * The headers that a manifest has an HTTP tool called with: their names are the manifest's, and so is at least the form
 * of their values. What frames a request, says who calls, or holds a secret is not for a manifest to set.
 */
import { HEADER_VALUE } from '../../vault/placement.ts';
import { invalid, isObject, withoutPrototype } from './fields.ts';
import { parseTemplate } from './template.ts';

/** Templates by header. Throws Fault `input_invalid`. */
export function parseToolHeaders(where: string, input: unknown): Readonly<Record<string, string>> {
  if (!isObject(input)) throw invalid(where, 'is not an object');
  const entries = Object.entries(input);
  if (entries.length > MAX_HEADERS) throw invalid(where, `has more than ${MAX_HEADERS} headers`);
  const seen = new Set<string>();
  for (const [name] of entries) {
    if (!NAME.test(name)) throw invalid(where, 'has a name that is none of a header');
    const folded = name.toLowerCase().replace(/[^a-z0-9]/g, '-');
    if (SECRET.has(folded)) throw invalid(where, `has ${name}, which holds a secret: name a credential`);
    if (OURS.test(folded)) throw invalid(where, `has ${name}, which is not for a manifest to set`);
    if (seen.has(folded)) throw invalid(where, `has ${name} twice`);
    seen.add(folded);
  }
  return withoutPrototype(
    Object.fromEntries(entries.map(([name, value]) => [name, parseValue(`${where}.${name}`, value)])),
  );
}

function parseValue(where: string, input: unknown): string {
  const fits = typeof input === 'string' && input.length <= MAX_VALUE_LENGTH && HEADER_VALUE.test(input);
  if (!fits) throw invalid(where, `is not 1 to ${MAX_VALUE_LENGTH} visible ASCII characters`);
  if (!parseTemplate(input))
    throw invalid(where, 'has a brace that is not of a {field}; write {{ or }} for one');
  return input;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** As servers fold names: to a CGI variable all marks are one. */
const SECRET: ReadonlySet<string> = new Set([
  'api-key',
  'authorization',
  'cookie',
  'cookie2',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
]);
/** What frames a request, what takes its method or path from a header, and who calls. */
const OURS =
  /^(?:accept-encoding|connection|content-(?:encoding|length|type)|expect|forwarded|host|http2-settings|idempotency-key|keep-alive|proxy-.*|sallyport-.*|te|trace(?:parent|state)|trailer|transfer-encoding|upgrade|x-forwarded-.*|x-(?:http-)?method(?:-override)?|x-original-ur[il]|x-rewrite-ur[il])$/;
const MAX_HEADERS = 50;
const MAX_VALUE_LENGTH = 1024;
