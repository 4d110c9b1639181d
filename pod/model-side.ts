/**
 * The gates as one run's clients see them: a base URL on loopback that takes the run's secret for a key and puts the
 * current run token in its place. It answers to its own address only and never to a browser: a page could name any host
 * that resolves to loopback, and would send what it is told. It never says or logs a token.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Address, forward } from './forward.ts';
import { isOfBrowser, type RawHeaders, valuesOf } from './headers.ts';
import { type ModelRefusal, sendModelRefusal } from './model-refusals.ts';
import { isRunSecret, readCredential } from './run-secret.ts';

export interface ModelSide {
  readonly secret: string;
  readonly gates: Address;
  /** The run token to use now. */
  readonly token: () => string;
}

/** A listener that is not listening yet. */
export function makeModelSide(side: ModelSide): Server {
  const server = createServer(
    { requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true, maxHeaderSize: MAX_HEAD_BYTES },
    (request, response) => serve(side, request, response),
  );
  server.maxHeadersCount = 0;
  return server;
}

function serve(side: ModelSide, request: IncomingMessage, response: ServerResponse): void {
  const refuse = (why: ModelRefusal): void => {
    request.resume();
    sendModelRefusal(response, why, request.url ?? '/');
  };
  const why = judge(request);
  const { path, shown } = takeKey(request.url ?? '/', side.secret);
  const place = findSecret(request.rawHeaders, side.secret) ?? (shown ? 'X-Goog-Api-Key' : null);
  if (why !== null || place === null) {
    refuse(why ?? 'secret_wrong');
    return;
  }
  forward(request, response, {
    to: side.gates,
    path,
    set: {
      Host: formatHost(side.gates),
      [place]: place === 'Authorization' ? `Bearer ${side.token()}` : side.token(),
    },
    // Another credential beside the run's would be one too many for the gates.
    drop: KEY_HEADERS.map((name) => name.toLowerCase()),
    unreachable: () => refuse('gates_unreachable'),
  });
}

/** Whether somebody asks whom the relay does not serve, whatever they show. */
function judge({ rawHeaders, socket: { localPort } }: IncomingMessage): ModelRefusal | null {
  const [host, ...more] = valuesOf(rawHeaders, 'host').map((value) => value.toLowerCase());
  const ours = host === `127.0.0.1:${localPort}` || host === `localhost:${localPort}`;
  if (!ours || more.length > 0) return 'host_unknown';
  return isOfBrowser(rawHeaders) ? 'browser_refused' : null;
}

/** The header that holds the run's secret, where a client puts its key. */
function findSecret(raw: RawHeaders, secret: string): (typeof KEY_HEADERS)[number] | null {
  const holds = (name: (typeof KEY_HEADERS)[number]): boolean => {
    const values = valuesOf(raw, name.toLowerCase());
    const shown = name === 'Authorization' ? readCredential(values[0] ?? '') : values[0];
    return values.length === 1 && isRunSecret(shown, secret);
  };
  return KEY_HEADERS.find(holds) ?? null;
}

/** The request target without a `key=` that holds the secret, where some of Google's clients put theirs. */
function takeKey(url: string, secret: string): { readonly path: string; readonly shown: boolean } {
  const [path = '', query] = url.split(/\?(.*)/s, 2);
  const fields = query?.split('&') ?? [];
  const kept = fields.filter((field) => !isRunSecret(/^key=(.*)$/s.exec(field)?.[1], secret));
  if (kept.length === fields.length) return { path: url, shown: false };
  return { path: kept.length > 0 ? `${path}?${kept.join('&')}` : path, shown: true };
}

function formatHost({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const KEY_HEADERS = ['Authorization', 'X-Api-Key', 'X-Goog-Api-Key'] as const;
/** Longer than clients keep a connection: the one who closes first should not be us. */
const KEEP_ALIVE_MS = 65_000;
const MAX_HEAD_BYTES = 64 * 1024;
