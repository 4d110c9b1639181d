/**
 * The demo's origin: a small HTTPS server on loopback that shows what reached it. It keeps nothing, and answers
 * with nothing but what it was sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Authority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { translateListenError } from '../../core-lite/service.ts';
import { makeDemoRepository } from './demo-repository.ts';

export const DEMO_HOST = 'demo.sallyport.test';

export interface DemoOrigin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1 at the first of `ports` that is free; 0 is any that is.
 * Rejects with Fault `port_taken` where none is.
 */
export async function startDemoOrigin(authority: Authority, ports: readonly number[]): Promise<DemoOrigin> {
  const repository = makeDemoRepository();
  const server = createServer(certify(authority), (request, response) => {
    answer(request, response, repository);
  });
  const port = await listenFirst(server, ports);
  // A leaf lives for seven days; this start may live longer.
  const renewal = setInterval(() => server.setSecureContext(certify(authority)), RENEWAL_MS).unref();
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

function certify(authority: Authority): { readonly cert: string; readonly key: string } {
  const leaf = issueLeaf(authority, DEMO_HOST, new Date());
  return { cert: leaf.certificatePem, key: leaf.keyPem };
}

type Repository = ReadonlyMap<string, Buffer>;

function answer(request: IncomingMessage, response: ServerResponse, repository: Repository): void {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const found = find(path, request, repository);
  const [status, type, body] =
    request.method !== 'GET' && request.method !== 'HEAD'
      ? ([405, TEXT, `only GET is answered here\n`] as const)
      : (found ?? ([404, TEXT, `there is nothing here; try ${PAGES.join(' ')} ${REPOSITORY}\n`] as const));
  request.resume();
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function find(
  path: string,
  request: IncomingMessage,
  repository: Repository,
): readonly [status: number, type: string, body: string | Buffer] | null {
  if (path === '/')
    return [200, TEXT, 'You came through Sallyport: this origin can be reached in no other way.\n'];
  if (path === '/hello') return [200, TEXT, 'hello\n'];
  if (path === '/headers')
    return [200, 'application/json', `${JSON.stringify(request.headersDistinct, null, 2)}\n`];
  const file = path.startsWith(`${REPOSITORY}/`)
    ? repository.get(path.slice(REPOSITORY.length + 1))
    : undefined;
  return file === undefined ? null : [200, 'application/octet-stream', file];
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
const PAGES = ['/', '/hello', '/headers'];
const TEXT = 'text/plain; charset=utf-8';
const RENEWAL_MS = 24 * 3_600_000;
