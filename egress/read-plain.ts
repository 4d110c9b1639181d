/**
 * Reads a plain request (RFC 9112 3.2.2, absolute form) out of its head: where to, with which credential, and the head
 * that the origin gets. No URL parser: the authority is read as the target of a CONNECT is, the path keeps its bytes.
 */
import { formatTarget, parseTarget, type Target } from '../core-lite/network/target.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { dropConnectionHeaders } from './http1/connection-headers.ts';
import { type Framing, requestFraming } from './http1/framing.ts';
import { foldName, type HeaderLine, headerValues, type RequestHead } from './http1/head.ts';
import { asksWebSocket, upgradeHeaders } from './http1/upgrade.ts';
import { makeLine } from './http1/write-head.ts';

export interface PlainRequest {
  readonly target: Target;
  readonly credential: string | undefined;
  readonly framing: Framing;
  /** As it came. */
  readonly head: RequestHead;
  /** What the origin gets: origin form, the target's own Host, nothing that was meant for the proxy. */
  readonly originHead: RequestHead;
}

/** The request, or why it is not served. */
export function readPlain(head: RequestHead): PlainRequest | RefusalReason {
  const framing = requestFraming(head);
  const hosts = headerValues(head.headers, 'host').length;
  const credentials = headerValues(head.headers, 'proxy-authorization');
  const isFramed = hosts === 1 || (head.minor === 0 && hosts === 0);
  if (!framing || !isFramed || credentials.length > 1) return 'request_malformed';
  // It would send back what the origin got, and to nobody's use.
  if (head.method.toUpperCase() === 'TRACE') return 'method_refused';
  const url = readUrl(head.target);
  if (typeof url === 'string') return url;
  const { target, path } = url;
  const asked = head.method === 'OPTIONS' && path === '' ? '*' : path.startsWith('/') ? path : `/${path}`;
  const originHead = { ...head, target: asked, headers: originHeaders(head, target) };
  return { target, credential: credentials[0], framing, head, originHead };
}

function readUrl(text: string): { readonly target: Target; readonly path: string } | RefusalReason {
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme === undefined) return 'target_missing';
  if (scheme.toLowerCase() !== 'http') return 'scheme_refused';
  const match = HTTP_URL.exec(text);
  const authority = match?.[1] ?? '';
  const target = parseTarget(HAS_PORT.test(authority) ? authority : `${authority}:80`);
  return match && target ? { target, path: match[2] ?? '' } : 'target_malformed';
}

/** RFC 9112 3.2.2: whatever Host the client sent, the target's own goes on, first. */
function originHeaders(head: RequestHead, target: Target): readonly HeaderLine[] {
  const ofMessage = asksWebSocket(head) ? upgradeHeaders(head.headers) : dropConnectionHeaders(head.headers);
  const kept = ofMessage.filter(({ name }) => {
    const folded = foldName(name);
    return folded !== 'host' && !folded.startsWith('proxy-');
  });
  return [makeLine('Host', target.port === 80 ? target.host : formatTarget(target)), ...kept];
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//;
/** No fragment: it is never sent, so whoever sends one means something else. */
const HTTP_URL = /^http:\/\/([^/?#]*)((?:[/?][^#]*)?)$/i;
const HAS_PORT = /:[^:\]]*$/;
