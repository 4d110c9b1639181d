/** Parent proxies on loopback for tests: whole ones that connect to loopback whatever name they are asked for. */
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

export interface TestParent {
  readonly port: number;
  /** `host:port` of what it was asked for, oldest first. */
  readonly asked: readonly string[];
  /** Heads of plain requests, as they came. */
  readonly heads: readonly string[];
  /** Connections that are open now. */
  readonly open: number;
  /** Of its own CA; empty without TLS. */
  readonly caPem: string;
  close(): Promise<void>;
}

export interface TestParentOptions {
  /** `user:password` that it asks for. */
  readonly login?: string;
  /** With TLS, under a certificate for this name. */
  readonly name?: string;
  /** What it does instead of its work, once it was asked for a target. */
  readonly answer?: (socket: Socket, target: string) => void;
}

type Serve = (socket: Socket, options: TestParentOptions, seen: Seen) => void;

interface Seen {
  readonly asked: string[];
  readonly heads: string[];
}

export function startHttpParent(options: TestParentOptions = {}): Promise<TestParent> {
  return start(serveHttp, options);
}

export function startSocksParent(options: TestParentOptions = {}): Promise<TestParent> {
  return start(serveSocks, options);
}

async function start(serve: Serve, options: TestParentOptions): Promise<TestParent> {
  const seen: Seen = { asked: [], heads: [] };
  const sockets = new Set<Socket>();
  const take = (socket: Socket): void => {
    socket.on('error', () => {});
    serve(socket, options, seen);
  };
  const tls = options.name === undefined ? null : certify(options.name);
  const server = tls
    ? createTlsServer({ ...tls, allowHalfOpen: true }, take).on('tlsClientError', () => {})
    : createServer({ allowHalfOpen: true }, take);
  // The bare ones, so that a handshake that fails is seen too.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    ...seen,
    get open() {
      return sockets.size;
    },
    caPem: tls?.caPem ?? '',
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function certify(name: string) {
  const now = new Date();
  const authority = openAuthority(makeAuthority({ name: 'Test parent', now }));
  const { certificatePem: cert, keyPem: key } = issueLeaf(authority, name, now);
  return { cert, key, caPem: authority.certificatePem };
}

function serveHttp(socket: Socket, { login, answer }: TestParentOptions, { asked, heads }: Seen): void {
  let held = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    const end = held.indexOf('\r\n\r\n');
    if (end < 0) return;
    socket.removeListener('data', onData).pause();
    const head = held.toString('latin1', 0, end + 4);
    const [, target = ''] = head.split(' ');
    heads.push(head);
    const wanted = `Proxy-Authorization: Basic ${Buffer.from(login ?? '').toString('base64')}\r\n`;
    if (login !== undefined && !head.includes(wanted)) return refuse(socket, NO_LOGIN);
    asked.push(target);
    if (answer) return answer(linger(socket), target);
    pass(socket, target, HTTP_OPEN, HTTP_UNREACHED);
  };
  socket.on('data', onData);
}

function serveSocks(socket: Socket, { login, answer }: TestParentOptions, { asked }: Seen): void {
  const steps = login === undefined ? [GREETING, REQUEST] : [GREETING, LOGIN, REQUEST];
  let held = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    const length = steps[0]?.(held) ?? 0;
    if (length === 0 || held.length < length) return;
    const message = held.subarray(0, length);
    held = held.subarray(length);
    const step = steps.shift();
    if (step === GREETING) return greet(socket, message, login);
    if (step === LOGIN) return logIn(socket, message, login);
    socket.removeListener('data', onData).pause();
    const target = `${message.toString('latin1', 5, length - 2)}:${message.readUInt16BE(length - 2)}`;
    asked.push(target);
    if (answer) return answer(linger(socket), target);
    pass(socket, target, SOCKS_OPEN, SOCKS_UNREACHED);
  };
  socket.on('data', onData);
}

function greet(socket: Socket, message: Buffer, login: string | undefined): void {
  const method = login === undefined ? 0 : 2;
  if (message.includes(method, 2)) socket.write(Buffer.from([5, method]));
  else refuse(socket, Buffer.from([5, 0xff]));
}

/** RFC 1929 2. */
function logIn(socket: Socket, message: Buffer, login = ''): void {
  const parts = login.split(':').map((part) => String.fromCharCode(part.length) + part);
  if (message.equals(Buffer.from(`\x01${parts.join('')}`))) socket.write(Buffer.from([1, 0]));
  else refuse(socket, Buffer.from([1, 1]));
}

function pass(socket: Socket, target: string, opened: Buffer | string, unreached: Buffer | string): void {
  const port = Number(target.split(':')[1]);
  const origin = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  origin.once('connect', () => {
    socket.write(opened);
    socket.pipe(origin).pipe(socket);
  });
  origin.on('error', () => origin.bytesRead > 0 || refuse(socket, unreached));
  origin.once('close', () => socket.destroySoon());
  socket.once('close', () => origin.destroy());
}

function refuse(socket: Socket, answer: string | Buffer): void {
  linger(socket).end(answer);
}

/** Reads on, only to see how the other side ends. */
function linger(socket: Socket): Socket {
  return socket.resume().once('end', () => socket.destroy());
}

/** How long the message at the front is, as soon as that can be told; 0 until then. */
const GREETING = (bytes: Buffer): number => (bytes.length < 2 ? 0 : 2 + (bytes[1] ?? 0));
const LOGIN = (bytes: Buffer): number => {
  const user = bytes[1];
  const password = user === undefined ? undefined : bytes[2 + user];
  return user === undefined || password === undefined ? 0 : 3 + user + password;
};
const REQUEST = (bytes: Buffer): number => (bytes.length < 5 ? 0 : 7 + (bytes[4] ?? 0));

const NO_LOGIN =
  'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="PARENT-WORDS"\r\n' +
  'Content-Length: 12\r\n\r\nPARENT-WORDS';
const HTTP_OPEN = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const HTTP_UNREACHED = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n';
export const SOCKS_OPEN: Buffer = Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
const SOCKS_UNREACHED = Buffer.from([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
