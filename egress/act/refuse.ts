/**
 * The answer to a refused CONNECT: the reason and the remedy in a header and in one line of body, with the same words
 * as the record. It says nothing about the installation and repeats nothing that the client sent but its target.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSALS, type RefusalReason } from '../../core-lite/reasons.ts';

export interface RefusalAnswer {
  readonly reason: RefusalReason;
  /** The record's row, where there is one. */
  readonly connectionId: string | null;
  /** Whether the client may ask again on this connection. */
  readonly keepAlive: boolean;
  /** A code that says more, such as `CERT_HAS_EXPIRED`. */
  readonly code?: string;
}

/** Writes the answer; closes the connection unless the client may ask again on it. */
export function refuse(socket: Socket, answer: RefusalAnswer): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const text = formatRefusal(answer);
  if (answer.keepAlive) socket.write(text);
  else hangUp(socket, text);
}

/**
 * Writes the answer and ends. What the client still sends is read and dropped for a moment: a close over unread bytes
 * is a reset, and a reset takes the answer with it.
 */
function hangUp(socket: Socket, text: string): void {
  const limit = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(limit));
  socket.end(text);
  socket.resume();
}

export function formatRefusal({ reason, connectionId, keepAlive, code }: RefusalAnswer): string {
  const { status, text, remedy } = REFUSALS[reason];
  const what = code ? `${text} (${code})` : text;
  const body = `sallyport: ${reason}: ${what}; ${remedy}${connectionId ? ` (${connectionId})` : ''}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Sallyport-Reason: ${reason}`,
    `Sallyport-Remedy: ${remedy}`,
    ...(connectionId ? [`Sallyport-Connection: ${connectionId}`] : []),
    ...(status === 407 ? ['Proxy-Authenticate: Basic realm="sallyport"'] : []),
    // The listener takes nothing but CONNECT; inside a connection that one is refused.
    ...(status === 405 ? [`Allow: ${connectionId ? INSIDE : 'CONNECT'}`] : []),
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Connection: ${keepAlive ? 'keep-alive' : 'close'}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const INSIDE = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
/** Long enough for a client that is far away to see the end and close; short enough to hold nothing for long. */
const LINGER_MS = 1_000;
