/**
 * The proxy of one run: takes what its clients ask of any proxy, looks whether they may ask, and hands it on to egress
 * with the current egress token. It decides nothing: what egress answers, refusals too, goes back as it came. It never
 * says or logs a token, and never passes the run's secret on.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { type Address, forward } from './forward.ts';
import { pairsOf, valuesOf } from './headers.ts';
import { isRunSecret, readCredential } from './run-secret.ts';
import { tunnel } from './tunnel.ts';

export interface ProxySide {
  /** Whether whoever sent this may use the proxy. */
  readonly admit: (request: IncomingMessage) => Admission;
  readonly egress: Address;
  /** The egress token to use now. */
  readonly token: () => string;
}

/** `missing` may ask again on the same connection; every other no is final. */
type Admission = 'admitted' | 'missing' | 'wrong' | 'browser';

/** Asks for the run's secret as the password. */
export function admitBySecret(secret: string): ProxySide['admit'] {
  return ({ rawHeaders }) => {
    const [first, ...more] = valuesOf(rawHeaders, 'proxy-authorization');
    if (first === undefined) return 'missing';
    return more.length === 0 && isRunSecret(readCredential(first), secret) ? 'admitted' : 'wrong';
  };
}

/** A proxy listener that is not listening yet. */
export function makeProxySide(side: ProxySide): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEAD_BYTES,
    requestTimeout: 0,
    requireHostHeader: false,
    noDelay: true,
  });
  server.maxHeadersCount = 0;
  server.on('connect', (request, socket: Socket, head) => serveConnect(server, side, request, socket, head));
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) =>
      servePlain(side, request, response),
    );
  }
  return server;
}

function serveConnect(
  server: Server,
  side: ProxySide,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  // The parser has let go of the socket: without a listener of ours an error would end the process.
  socket.on('error', ignore);
  const admission = side.admit(request);
  if (admission === 'admitted') {
    openTunnel(side, request, socket, head);
    return;
  }
  // git, Java and others ask without it first and again, with it, on the same connection.
  const again = admission === 'missing' && request.httpVersion === '1.1' && socket.writable;
  if (!again) {
    refuseConnection(socket, admission);
    return;
  }
  socket.write(formatAnswer(REFUSALS[admission], true));
  socket.removeListener('error', ignore);
  if (head.length > 0) socket.unshift(head);
  server.emit('connection', socket);
}

/** Ends after the answer. For a socket whose errors somebody listens to. */
export function refuseConnection(socket: Socket, why: Refusal): void {
  hangUp(socket, formatAnswer(REFUSALS[why], false));
}

/** Dials egress and says there what the client said here, with the token in place of the secret. */
function openTunnel(side: ProxySide, request: IncomingMessage, client: Socket, head: Buffer): void {
  const egress = connect({ ...side.egress, allowHalfOpen: true, noDelay: true });
  const fail = (): void => {
    egress.destroy();
    refuseConnection(client, 'egress_unreachable');
  };
  const giveUp = (): void => void egress.destroy();
  egress.setTimeout(DIAL_LIMIT_MS, fail);
  egress.once('error', fail);
  client.once('close', giveUp);
  egress.once('connect', () => {
    // How long egress may take to dial is egress's own matter.
    egress.setTimeout(0);
    egress.write(connectHead(request, side.token()), 'latin1');
  });
  readAnswer(egress, (answer, opened) => {
    if (answer === null) {
      fail();
      return;
    }
    egress.removeListener('error', fail);
    client.write(answer);
    if (opened) {
      client.removeListener('close', giveUp);
      // What came right behind the CONNECT waits until it is known where it goes.
      if (head.length > 0) egress.write(head);
      tunnel(client, egress);
    } else {
      egress.on('error', ignore);
      egress.once('close', () => client.destroySoon());
      egress.pipe(client);
      egress.end();
      client.resume();
    }
  });
}

/** Reads the head of the answer to a CONNECT, and hands over all that came, or `null` where none came. */
function readAnswer(egress: Socket, then: (answer: Buffer | null, opened: boolean) => void): void {
  let came = Buffer.alloc(0);
  const settle = (answer: Buffer | null): void => {
    egress.removeListener('data', onData);
    egress.removeListener('end', onEnd);
    egress.pause();
    then(answer, OPENED.test(came.toString('latin1', 0, 16)));
  };
  const onEnd = (): void => settle(null);
  const onData = (chunk: Buffer): void => {
    came = Buffer.concat([came, chunk]);
    if (came.includes(HEAD_END)) settle(came);
    else if (came.length > MAX_HEAD_BYTES) settle(null);
  };
  egress.on('data', onData).once('end', onEnd);
}

/** Egress judges what the client said, so everything stays but what is between the client and us. */
function connectHead(request: IncomingMessage, token: string): string {
  const kept = pairsOf(request.rawHeaders).filter(([name]) => !BETWEEN_US.has(name.toLowerCase()));
  const lines = [...kept, ['Proxy-Authorization', `Bearer ${token}`] as const];
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `CONNECT ${request.url} HTTP/${request.httpVersion}\r\n${text}\r\n`;
}

/** A request without CONNECT: what it names is for egress to judge, in its own words. */
function servePlain(side: ProxySide, request: IncomingMessage, response: ServerResponse): void {
  const refuse = (why: Refusal): void => {
    const { status, text } = REFUSALS[why];
    request.resume();
    response.writeHead(status, {
      ...headersOf(status),
      ...(why === 'missing' ? {} : { Connection: 'close' }),
    });
    response.end(text);
  };
  const target = request.url ?? '';
  const admission = side.admit(request);
  if (admission !== 'admitted') refuse(admission);
  // A path alone is how a web server is asked, and how a page can make a browser ask.
  else if (target === '' || target.startsWith('/')) refuse('no_proxy_request');
  else {
    forward(request, response, {
      to: side.egress,
      path: target,
      set: { 'Proxy-Authorization': `Bearer ${side.token()}` },
      drop: [],
      unreachable: () => refuse('egress_unreachable'),
    });
  }
}

function formatAnswer({ status, text }: { status: number; text: string }, keepAlive: boolean): string {
  const headers = {
    ...headersOf(status),
    'Content-Length': String(Buffer.byteLength(text)),
    Connection: keepAlive ? 'keep-alive' : 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`;
}

function headersOf(status: number): Record<string, string> {
  return {
    'Content-Type': 'text/plain; charset=utf-8',
    ...(status === 407 ? { 'Proxy-Authenticate': 'Basic realm="sallyport"' } : {}),
  };
}

/** Ends after the answer; what still comes is read for a moment, since a close over unread bytes takes it back. */
function hangUp(socket: Socket, text: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  const limit = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(limit));
  socket.end(text);
  socket.resume();
}

function ignore(): void {}

type Refusal = keyof typeof REFUSALS;

const SECRET_WANTED = {
  status: 407,
  text: 'sallyport: the relay asks for the secret of the run; take HTTPS_PROXY as the run has it, with its password\n',
};
const REFUSALS = {
  missing: SECRET_WANTED,
  wrong: SECRET_WANTED,
  browser: {
    status: 403,
    text: 'sallyport: the relay does not serve browsers; ask it from a program of the run\n',
  },
  other_user: {
    status: 403,
    text: 'sallyport: this port serves the user of the run only, and it is not proved that you are; take HTTPS_PROXY as the run has it\n',
  },
  egress_unreachable: {
    status: 502,
    text: 'sallyport: egress cannot be reached from the relay; look whether it runs\n',
  },
  no_proxy_request: {
    status: 400,
    text: 'sallyport: this is the proxy of a run; ask it as a proxy is asked\n',
  },
} as const;
const OPENED = /^HTTP\/1\.[01] 2\d\d[ \r]/;
const HEAD_END = '\r\n\r\n';
const BETWEEN_US: ReadonlySet<string> = new Set([
  'proxy-authorization',
  'proxy-connection',
  'connection',
  'keep-alive',
]);
const MAX_HEAD_BYTES = 64 * 1024;
const DIAL_LIMIT_MS = 10_000;
const LINGER_MS = 1_000;
