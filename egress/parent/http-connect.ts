/**
 * Asks an HTTP parent proxy for a tunnel (RFC 9110 9.3.6) and reads its answer strictly. Its status becomes a code; its
 * headers and its body are never passed on, least of all a 407: the client has no part in that login.
 */
import type { Socket } from 'node:net';
import type { ParentLogin } from '../../core-lite/network/parent-proxy.ts';
import { formatTarget, type Target } from '../../core-lite/network/target.ts';
import { Secret } from '../../core-lite/secret.ts';
import { parseResponseHead } from '../http1/head.ts';
import { AnswerReader } from './answer-reader.ts';
import { originFailed, type ParentFailure, parentFailed } from './failure.ts';

/** `null` when the tunnel is open: what the socket gives next is the origin's. Never rejects. */
export async function connectOverHttp(
  socket: Socket,
  target: Target,
  login: ParentLogin | null,
  signal: AbortSignal,
): Promise<ParentFailure | null> {
  socket.write(connectHead(formatTarget(target), login));
  const reader = new AnswerReader(socket, signal);
  try {
    return await readAnswer(reader);
  } finally {
    reader.close();
  }
}

/** The value of `Proxy-Authorization` for this login. */
export function basicOf({ user, password }: ParentLogin): Secret {
  const pair = `${user.reveal()}:${password.reveal()}`;
  return new Secret(`Basic ${Buffer.from(pair).toString('base64')}`);
}

/** What of this login no answer may bring back. What is too short is in any text, and goes out as Basic all the same. */
export function secretsOf({ user, password }: ParentLogin): readonly Secret[] {
  const pair = `${user.reveal()}:${password.reveal()}`;
  // Some proxies take a token as the user.
  const word = password.reveal() === '' ? user.reveal() : password.reveal();
  const texts = [word, pair, Buffer.from(pair).toString('base64')];
  return texts.filter((text) => text.length >= MIN_SECRET_LENGTH).map((text) => new Secret(text));
}

/** What an answer that opens nothing means. @param status of the parent, not of the origin */
function judgeStatus(status: number): ParentFailure {
  if (status === 407) return parentFailed('AUTH');
  return UNREACHED.has(status) ? originFailed(`ANSWERED_${status}`) : parentFailed(`REFUSED_${status}`);
}

async function readAnswer(reader: AnswerReader): Promise<ParentFailure | null> {
  for (let skipped = 0; skipped <= MAX_INTERIM; skipped += 1) {
    const bytes = await reader.head(MAX_HEAD_BYTES);
    if (bytes === 'closed') return parentFailed('CLOSED');
    const head = bytes === 'too_large' ? null : parseResponseHead(bytes);
    if (!head || head.status === 101) return parentFailed('MALFORMED');
    // RFC 9110 9.3.6: any 2xx opens the tunnel, and a length that it names means nothing.
    if (head.status >= 200) return head.status < 300 ? null : judgeStatus(head.status);
  }
  return parentFailed('MALFORMED');
}

function connectHead(authority: string, login: ParentLogin | null): string {
  const credential = login ? `Proxy-Authorization: ${basicOf(login).reveal()}\r\n` : '';
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credential}\r\n`;
}

/** How proxies say that they did not get through to the host. */
const UNREACHED: ReadonlySet<number> = new Set([502, 503, 504]);
const MAX_HEAD_BYTES = 16 * 1024;
const MIN_SECRET_LENGTH = 8;
const MAX_INTERIM = 4;
