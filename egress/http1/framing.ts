/**
 * Where a message ends. One length or one `chunked`, spelled in the one way, and never both: a message that two readers
 * could cut at different places is refused (request smuggling).
 */
import { foldName, type HeaderLine, headerValues, type RequestHead, type ResponseHead } from './head.ts';
import { asksWebSocket } from './upgrade.ts';

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** A response that ends with its connection. */
  | { readonly kind: 'until_close' };

/** Whether some server would take it for what frames or names: RFC 3875 4.1.18 folds marks away. */
export function framesInDisguise({ name }: HeaderLine): boolean {
  return FRAMING.has(foldName(name)) && !FRAMING.has(name);
}

/** `null` where it is ambiguous, also to an origin that takes `Content_Length` or `Content.Length` for a length. */
export function requestFraming(head: RequestHead): Framing | null {
  if (head.headers.some(framesInDisguise)) return null;
  const declared = declaredFraming(head.headers, head.minor);
  // Once it has switched, nobody could say where such a body ends and the WebSocket begins.
  if (asksWebSocket(head) && declared && !isEmpty(declared)) return null;
  return declared === undefined ? NONE : declared;
}

/**
 * `null` where it is ambiguous.
 * @param method of the request that it answers
 */
export function responseFraming(head: ResponseHead, method: string): Framing | null {
  const declared = declaredFraming(head.headers, head.minor);
  if (declared === null) return null;
  // RFC 9112 6.3: these have no content, whatever they declare.
  if (method === 'HEAD' || head.status < 200 || head.status === 204 || head.status === 304) return NONE;
  return declared ?? { kind: 'until_close' };
}

function isEmpty(framing: Framing): boolean {
  return framing.kind === 'none' || (framing.kind === 'length' && framing.bytes === 0);
}

/** `undefined` where nothing is declared, `null` where it is ambiguous. */
function declaredFraming(headers: readonly HeaderLine[], minor: number): Framing | null | undefined {
  const lengths = headerValues(headers, 'content-length');
  const codings = headerValues(headers, 'transfer-encoding');
  if (lengths.length + codings.length === 0) return undefined;
  if (lengths.length + codings.length > 1) return null;
  const [length] = lengths;
  if (length !== undefined) return LENGTH.test(length) ? { kind: 'length', bytes: Number(length) } : null;
  // RFC 9112 6.1: an HTTP/1.0 reader does not know codings; whoever sends one there is not understood by all.
  return codings[0]?.toLowerCase() === 'chunked' && minor === 1 ? { kind: 'chunked' } : null;
}

const FRAMING = new Set(['content-length', 'host', 'transfer-encoding']);
const NONE: Framing = { kind: 'none' };
/** Up to 15 digits are an exact number. */
const LENGTH = /^\d{1,15}$/;
