/**
 * The one upgrade that passes: to a WebSocket (RFC 6455 4.1). `Connection` and `Upgrade` belong to one hop, so they are
 * written again for the next; any other upgrade would end in bytes that nobody here could read.
 */
import { dropConnectionHeaders } from './connection-headers.ts';
import { type HeaderLine, headerValues, type RequestHead, type ResponseHead } from './head.ts';
import { makeLine } from './write-head.ts';

/** Whether a request asks for a WebSocket, and nothing else beside it. */
export function asksWebSocket({ method, minor, headers }: RequestHead): boolean {
  return method === 'GET' && minor === 1 && namesWebSocket(headers);
}

/** Whether an answer is the switch that was asked for. */
export function isWebSocket({ status, headers }: ResponseHead): boolean {
  return status === 101 && namesWebSocket(headers);
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

const UPGRADE = makeLine('Connection', 'Upgrade');
