/**
 * The one upgrade that passes: to a WebSocket (RFC 6455 4.1). `Connection` and `Upgrade` belong to one hop, so they are
 * written again for the next; any other upgrade would end in bytes that nobody here could read. Whoever answers proves
 * by the client's key that the upgrade reached it: behind any other 101 stands somebody who may still read HTTP.
 */
import { createHash } from 'node:crypto';
import { dropConnectionHeaders } from './connection-headers.ts';
import { type HeaderLine, headerValues, type RequestHead, type ResponseHead } from './head.ts';
import { makeLine } from './write-head.ts';

/** Whether a request asks for a WebSocket, and nothing else beside it. */
export function asksWebSocket({ method, minor, headers }: RequestHead): boolean {
  return method === 'GET' && minor === 1 && namesWebSocket(headers) && KEY.test(keyOf(headers));
}

/** Whether an answer is the switch that this request asked for. */
export function isWebSocket({ status, headers }: ResponseHead, request: RequestHead): boolean {
  const accepts = headerValues(headers, 'sec-websocket-accept');
  return (
    status === 101 &&
    namesWebSocket(headers) &&
    accepts.length === 1 &&
    accepts[0] === acceptOf(keyOf(request.headers))
  );
}

/** What goes on to the next hop of a request or an answer that switches to a WebSocket. */
export function upgradeHeaders(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  const kept = new Set(dropConnectionHeaders(headers));
  const first = headers.findIndex(({ name }) => name === 'connection');
  return headers.flatMap((line, i) => {
    if (i === first) return [UPGRADE];
    return kept.has(line) || line.name === 'upgrade' ? [line] : [];
  });
}

function namesWebSocket(headers: readonly HeaderLine[]): boolean {
  const upgrades = headerValues(headers, 'upgrade');
  const options = headerValues(headers, 'connection').flatMap((value) => value.toLowerCase().split(','));
  const [only = ''] = upgrades;
  return (
    upgrades.length === 1 &&
    only.toLowerCase() === 'websocket' &&
    options.some((option) => option.trim() === 'upgrade')
  );
}

/** Empty where there is not exactly one. */
function keyOf(headers: readonly HeaderLine[]): string {
  const [only = '', ...more] = headerValues(headers, 'sec-websocket-key');
  return more.length === 0 ? only : '';
}

/** RFC 6455 4.2.2: not for secrecy, and no other digest is an answer. */
function acceptOf(key: string): string {
  return createHash('sha1').update(key).update(ACCEPTS).digest('base64');
}

/** 16 bytes. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const ACCEPTS = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const UPGRADE = makeLine('Connection', 'Upgrade');
