/**
 * An answer's relay alone between real sockets: a provider that is a script of bytes, a server with nothing but the relay
 * in it, and what of both can be counted.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Pool } from 'undici';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { AnswerRelay, type RelayEnd } from '../../gates/act/relay-answer.ts';
import { startRawProvider } from './raw-provider.ts';

export interface RigOptions {
  /** What the provider does once a request is there. */
  readonly script: (socket: Socket) => void;
  readonly dialect?: Dialect;
  readonly secrets?: readonly string[];
  readonly silenceMs?: number;
  readonly idleLimitMs?: number;
  readonly wholeLimitMs?: number;
  readonly hidesUsage?: boolean;
}

interface RigReply {
  readonly status: number;
  readonly phrase: string;
  readonly body: Buffer;
  readonly text: string;
  /** Whether it came to its end as it was framed. */
  readonly whole: boolean;
  /** Names and values. */
  readonly rawHeaders: readonly string[];
}

export interface Rig {
  /** How each call ended, in their order. */
  readonly ends: RelayEnd[];
  /** The responses and the relay's connections to the provider, in their order. */
  readonly responses: ServerResponse[];
  readonly upstreams: Socket[];
  /** The provider's ends of those. */
  readonly provided: Socket[];
  readonly port: number;
  /** @param onData told of all that came, as it comes */
  ask(onData?: (soFar: Buffer) => void): Promise<RigReply>;
  close(): Promise<void>;
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const upstreams: Socket[] = [];
  const onConnect = (message: unknown): void => {
    upstreams.push((message as { socket: Socket }).socket);
  };
  subscribe('undici:client:connected', onConnect);
  const provider = await startRawProvider();
  provider.onRequest = options.script;
  const pool = new Pool(`http://127.0.0.1:${provider.port}`, { headersTimeout: 0, bodyTimeout: 0 });
  const ends: RelayEnd[] = [];
  const responses: ServerResponse[] = [];
  const server = createHttpServer((_request, response) => {
    responses.push(response);
    void relay(pool, options, response).then((end) => ends.push(end));
  });
  const port = await listen(server);
  return {
    ends,
    responses,
    upstreams,
    provided: provider.connections,
    port,
    ask: (onData) => ask(port, onData),
    close: async () => {
      unsubscribe('undici:client:connected', onConnect);
      server.closeAllConnections();
      await pool.destroy();
      await Promise.all([provider.close(), new Promise((resolve) => server.close(resolve))]);
    },
  };
}

async function relay(pool: Pool, options: RigOptions, response: ServerResponse): Promise<RelayEnd> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const {
    dialect = 'openai',
    secrets = [],
    silenceMs,
    idleLimitMs = 60_000,
    wholeLimitMs = 60_000,
  } = options;
  const handler = new AnswerRelay({
    response,
    dialect,
    session: 'ses_1',
    secrets: secrets.map((secret) => Buffer.from(secret)),
    hidesUsage: options.hidesUsage ?? false,
    signal: gone.signal,
    stopped: () => (gone.signal.aborted ? 'client_left' : null),
    idleLimitMs,
    wholeLimitMs,
    ...(silenceMs === undefined ? {} : { silenceMs }),
    now: Date.now,
  });
  pool.dispatch({ path: '/', method: 'POST', body: '{}' }, handler);
  const end = await handler.ended;
  if (end.failure === null) handler.complete();
  else if (end.status === null && !response.destroyed) response.writeHead(502).end(end.failure);
  return end;
}

function ask(port: number, onData: (soFar: Buffer) => void = () => {}): Promise<RigReply> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onData(Buffer.concat(chunks));
      });
      response
        .on('error', () => {})
        .once('close', () => {
          const body = Buffer.concat(chunks);
          const {
            statusCode: status = 0,
            statusMessage: phrase = '',
            complete: whole,
            rawHeaders,
          } = response;
          resolve({ status, phrase, body, text: body.toString('utf8'), whole, rawHeaders });
        });
    });
    asked.once('error', reject).end();
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
