/**
 * The answer to a refused request: the reason and the remedy in a header and in one line of body, with the same words
 * as the record. It says nothing about the installation and repeats nothing that the client sent but its target.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { findRemedy } from '../../core-lite/codes.ts';
import { REFUSALS, type RefusalReason } from '../../core-lite/reasons.ts';

export interface RefusalAnswer {
  readonly reason: RefusalReason;
  /** The record's row, where there is one. */
  readonly connectionId: string | null;
  /** Whether the client may ask again on this connection. */
  readonly keepAlive: boolean;
  /** A code that says more, such as `CERT_HAS_EXPIRED`. */
  readonly code?: string;
  /** Whether it answers a HEAD: then it has no body (RFC 9110 9.3.2). */
  readonly isHead?: boolean;
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
 * Writes the text, if there is one, and ends. What the client still sends is read and dropped for a moment: a close over
 * unread bytes is a reset, and a reset takes the answer with it.
 */
export function hangUp(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  const limit = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(limit));
  if (text === '') socket.end();
  else socket.end(text);
  socket.resume();
}

/** What an answer is made of, whatever protocol it goes out in. */
export interface RefusalParts {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

export function formatRefusal(answer: RefusalAnswer): string {
  const { status, headers, body } = refusalParts(answer);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Connection: ${answer.keepAlive ? 'keep-alive' : 'close'}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${answer.isHead ? '' : body}`;
}

export function refusalParts({
  reason,
  connectionId,
  code,
}: Omit<RefusalAnswer, 'keepAlive' | 'isHead'>): RefusalParts {
  const { status, text } = REFUSALS[reason];
  const remedy = findRemedy(reason, code);
  const what = code ? `${text} (${code})` : text;
  const body = `sallyport: ${reason}: ${what}; ${remedy}${connectionId ? ` (${connectionId})` : ''}\n`;
  const headers: [string, string][] = [
    ['Sallyport-Reason', reason],
    ['Sallyport-Remedy', remedy],
  ];
  if (code) headers.push(['Sallyport-Code', code]);
  if (connectionId) headers.push(['Sallyport-Connection', connectionId]);
  if (status === 407) headers.push(['Proxy-Authenticate', 'Basic realm="sallyport"']);
  // Inside a connection that one is refused.
  if (status === 405) headers.push(['Allow', connectionId ? INSIDE : `CONNECT, ${INSIDE}`]);
  headers.push(['Content-Type', 'text/plain; charset=utf-8']);
  headers.push(['Content-Length', String(Buffer.byteLength(body))]);
  return { status, headers, body };
}

const INSIDE = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
/** Long enough for a client that is far away to see the end and close; short enough to hold nothing for long. */
const LINGER_MS = 1_000;
