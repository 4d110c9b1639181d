/**
 * Asks a SOCKS5 parent proxy for a tunnel (RFC 1928, login as in RFC 1929). The name goes to the parent, which looks it
 * up; an address is never sent. Each answer is read to its last byte and not further.
 */
import type { Socket } from 'node:net';
import type { ParentLogin } from '../../core-lite/network/parent-proxy.ts';
import type { Target } from '../../core-lite/network/target.ts';
import { AnswerReader } from './answer-reader.ts';
import { originFailed, type ParentFailure, parentFailed } from './failure.ts';

/** `null` when the tunnel is open: what the socket gives next is the origin's. Never rejects. */
export async function connectOverSocks(
  socket: Socket,
  target: Target,
  login: ParentLogin | null,
  signal: AbortSignal,
): Promise<ParentFailure | null> {
  const reader = new AnswerReader(socket, signal);
  try {
    return (await greet(socket, reader, login)) ?? (await request(socket, reader, target));
  } finally {
    reader.close();
  }
}

async function greet(
  socket: Socket,
  reader: AnswerReader,
  login: ParentLogin | null,
): Promise<ParentFailure | null> {
  const offered = login ? [NO_LOGIN, BY_PASSWORD] : [NO_LOGIN];
  socket.write(Buffer.from([VERSION, offered.length, ...offered]));
  const answer = await reader.take(2);
  if (answer === 'closed') return parentFailed('CLOSED');
  const [version, method] = answer;
  if (version !== VERSION) return parentFailed('MALFORMED');
  if (method === NO_LOGIN) return null;
  if (method === BY_PASSWORD && login) return logIn(socket, reader, login);
  return parentFailed(method === NONE_ACCEPTED ? 'AUTH' : 'MALFORMED');
}

async function logIn(
  socket: Socket,
  reader: AnswerReader,
  login: ParentLogin,
): Promise<ParentFailure | null> {
  const parts = [login.user, login.password].map((part) => withLength(part.reveal()));
  socket.write(Buffer.concat([Buffer.from([LOGIN_VERSION]), ...parts]));
  const answer = await reader.take(2);
  if (answer === 'closed') return parentFailed('AUTH');
  if (answer[0] !== LOGIN_VERSION) return parentFailed('MALFORMED');
  return answer[1] === 0 ? null : parentFailed('AUTH');
}

async function request(socket: Socket, reader: AnswerReader, { host, port }: Target) {
  const head = Buffer.from([VERSION, CONNECT, 0, BY_NAME]);
  socket.write(Buffer.concat([head, withLength(host), Buffer.from([port >> 8, port & 0xff])]));
  const answer = await reader.take(4);
  if (answer === 'closed') return parentFailed('CLOSED');
  const [version, reply = 0xff, reserved, kind = 0] = answer;
  if (version !== VERSION || reserved !== 0) return parentFailed('MALFORMED');
  if (reply !== 0) return judgeReply(reply);
  return skipBound(reader, kind);
}

function judgeReply(reply: number): ParentFailure {
  if (UNREACHED.has(reply)) return originFailed(`ANSWERED_SOCKS_${reply}`);
  return parentFailed(reply <= LAST_REPLY ? `REFUSED_SOCKS_${reply}` : 'MALFORMED');
}

/** The address that the parent goes out by: of no use here, but it must be read to its end. */
async function skipBound(reader: AnswerReader, kind: number): Promise<ParentFailure | null> {
  const length = kind === BY_NAME ? await reader.take(1) : Buffer.from([BOUND_BYTES[kind] ?? 0]);
  if (length === 'closed') return parentFailed('CLOSED');
  if (!length[0]) return parentFailed('MALFORMED');
  return (await reader.take(length[0] + PORT_BYTES)) === 'closed' ? parentFailed('CLOSED') : null;
}

/** @param text at most 255 bytes: a host name, or a part of a login that was measured when it was read */
function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

const VERSION = 5;
const LOGIN_VERSION = 1;
const NO_LOGIN = 0;
const BY_PASSWORD = 2;
const NONE_ACCEPTED = 0xff;
const CONNECT = 1;
const BY_NAME = 3;
/** Address type -> its bytes: IPv4 and IPv6. */
const BOUND_BYTES: Readonly<Record<number, number>> = { 1: 4, 4: 16 };
const PORT_BYTES = 2;
/** RFC 1928 6: general failure (what most servers say of a name that is not there), network, host, refused, TTL. */
const UNREACHED: ReadonlySet<number> = new Set([1, 3, 4, 5, 6]);
const LAST_REPLY = 8;
