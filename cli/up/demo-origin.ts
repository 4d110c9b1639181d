/**
 * The demo's origin: a small HTTPS server on loopback that shows what reached it, under two names. A secret is bound to
 * the second, so nothing under that name gives back what it was sent: that would hand the secret to whoever asks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Authority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { translateListenError } from '../../core-lite/service.ts';
import { makeDemoRepository } from './demo-repository.ts';
import type { DemoSecret } from './demo-secret.ts';

export const DEMO_HOST = 'demo.sallyport.test';
/** The name that asks for the demo's secret. */
export const DEMO_API_HOST = 'api.demo.sallyport.test';

export interface DemoOrigin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1 at the first of `ports` that is free; 0 is any that is.
 * Rejects with Fault `port_taken` where none is.
 */
export async function startDemoOrigin(
  authority: Authority,
  secret: Pick<DemoSecret, 'recognise'>,
  ports: readonly number[],
): Promise<DemoOrigin> {
  const content = makeContent(secret);
  let contexts = certify(authority);
  const server = createServer(
    { SNICallback: (name, done) => done(null, contexts.get(name)) },
    (request, response) => answer(request, response, content),
  );
  const port = await listenFirst(server, ports);
  // A leaf lives for seven days; this start may live longer.
  const renewal = setInterval(() => {
    contexts = certify(authority);
  }, RENEWAL_MS).unref();
  return {
    port,
    close: () => {
      clearInterval(renewal);
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** A leaf for each name; none for a client that asks for another. */
function certify(authority: Authority): ReadonlyMap<string, SecureContext> {
  return new Map(
    [DEMO_HOST, DEMO_API_HOST].map((host) => {
      const leaf = issueLeaf(authority, host, new Date());
      return [host, createSecureContext({ cert: leaf.certificatePem, key: leaf.keyPem })];
    }),
  );
}

interface Content {
  readonly repository: ReadonlyMap<string, Buffer>;
  /** By name and path, besides the repository. */
  readonly pages: Readonly<Record<string, Pages>>;
}

type Pages = Readonly<Record<string, (request: IncomingMessage) => Page>>;
type Page = readonly [status: number, type: string, body: string | Buffer];

function makeContent(secret: Pick<DemoSecret, 'recognise'>): Content {
  const whoami = ({ headers }: IncomingMessage): Page => {
    const ending = secret.recognise(headers.authorization);
    return ending === null
      ? [401, TEXT, 'no key arrived, or another one\n']
      : [200, TEXT, `the real key arrived, ending in …${ending}\n`];
  };
  return {
    repository: makeDemoRepository(),
    pages: { [DEMO_HOST]: PLAIN_PAGES, [DEMO_API_HOST]: { '/whoami': whoami } },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, content: Content): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const [status, type, body] = isRead ? find(request, content) : NOT_READ;
  request.resume();
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** The name is the one of the handshake: what a `Host` says is the client's to choose. */
function find(request: IncomingMessage, { pages, repository }: Content): Page {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  // Every connection to an HTTPS server is one.
  const { servername } = request.socket as TLSSocket;
  const own = (typeof servername === 'string' && pages[servername]) || {};
  const page = Object.hasOwn(own, path) ? own[path]?.(request) : undefined;
  if (page) return page;
  const file = path.startsWith(`${REPOSITORY}/`)
    ? repository.get(path.slice(REPOSITORY.length + 1))
    : undefined;
  if (file) return [200, 'application/octet-stream', file];
  return [404, TEXT, `there is nothing here; try ${Object.keys(own).join(' ')} ${REPOSITORY}\n`];
}

async function listenFirst(server: Server, ports: readonly number[]): Promise<number> {
  let taken: unknown;
  for (const port of ports) {
    try {
      return await listen(server, port);
    } catch (error) {
      taken = translateListenError(error, { host: HOST, port });
    }
  }
  throw taken;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: HOST, port, exclusive: true }, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(bound !== null && typeof bound === 'object' ? bound.port : port);
    });
  });
}

const HOST = '127.0.0.1';
const REPOSITORY = '/demo.git';
const TEXT = 'text/plain; charset=utf-8';
const NOT_READ: Page = [405, TEXT, 'only GET is answered here\n'];
const PLAIN_PAGES: Pages = {
  '/': () => [200, TEXT, 'You came through Sallyport: this origin can be reached in no other way.\n'],
  '/hello': () => [200, TEXT, 'hello\n'],
  '/headers': ({ headersDistinct }) => [
    200,
    'application/json',
    `${JSON.stringify(headersDistinct, null, 2)}\n`,
  ],
};
const RENEWAL_MS = 24 * 3_600_000;
