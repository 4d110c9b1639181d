/**
 * A gate with bound hosts, for tests of what goes on inside interceptions: a client's tunnel, its TLS with the gate, and
 * an HTTP/2 session over it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect as connectHttp2,
} from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { startGate, type TestGate } from './gate.ts';

export const SECRET = 'the-real-secret-value';

export interface Inside {
  readonly gate: TestGate;
  /** Of the egress CA. */
  readonly caPem: string;
  /** Binds `SECRET` to the targets, for an environment. */
  bind(environment: string, targets: readonly string[]): Promise<void>;
  /** A tunnel to the target, and TLS in it. */
  enter(environment: string, target: string, options?: ConnectionOptions): Promise<TLSSocket>;
  /** An HTTP/2 session in a tunnel. */
  session(environment: string, target: string, options?: ClientSessionOptions): Promise<ClientHttp2Session>;
  close(): Promise<void>;
}

/** @param roots certificates of the origins' CAs @param hosts names that lead to loopback */
export async function startInside(
  hosts: readonly string[],
  roots: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Inside> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-inside-'));
  await writeFile(join(folder, 'roots.pem'), roots.join(''));
  const gate = await startGate({
    hosts: `127.0.0.1 ${hosts.join(' ')}`,
    open: hosts.map((host) => `${host}=127.0.0.0/8`).join(','),
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem'), ...settings },
  });
  await gate.world.call('PUT', '/v1/vaults/v');
  const caPem = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
  const open = new Set<TLSSocket>();
  let bound = '';
  const enter: Inside['enter'] = async (environment, target, options = {}) => {
    const outer = await gate.connect(target, await gate.world.token(environment));
    const answer = await outer.answer();
    if (answer.status !== 200) throw new Error(answer.text);
    const servername = target.split(':')[0] ?? '';
    const secured = connect({ socket: outer.detach(), servername, ca: [caPem], ...options });
    open.add(secured);
    secured.once('close', () => open.delete(secured));
    await new Promise<void>((resolve, reject) => {
      secured.once('secureConnect', resolve);
      secured.once('error', reject);
    });
    return secured;
  };
  return {
    gate,
    caPem,
    bind: async (environment, targets) => {
      const hosts = targets.join(' ');
      // A new version of the credential, told of a moment later, would end what a test has begun.
      if (bound !== hosts)
        await gate.world.call('PUT', '/v1/vaults/v/credentials/secret', {
          kind: 'environment_secret',
          variable: 'API_KEY',
          hosts: targets,
          secret: { value: SECRET },
        });
      bound = hosts;
      await gate.put(environment, { allow: targets, credentials: ['v/secret'] });
    },
    enter,
    session: async (environment, target, options = {}) => {
      const secured = await enter(environment, target, { ALPNProtocols: ['h2'] });
      const session = connectHttp2(`https://${target}`, { ...options, createConnection: () => secured });
      session.on('error', () => {});
      return session;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await gate.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** What came back on a stream. */
export interface StreamAnswer {
  readonly status: number;
  /** Names and values in turns, as they came. */
  readonly raw: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  /** Of the reset; 0 where the stream ended as it should. */
  readonly code: number;
}

/** Reads a stream to its end, however it ends. */
export function readStream(stream: ClientHttp2Stream): Promise<StreamAnswer> {
  let status = 0;
  let raw: readonly string[] = [];
  let trailers: readonly string[] = [];
  const body: Buffer[] = [];
  stream.on('error', () => {});
  stream.on('response', (headers, _flags, lines) => {
    status = headers[':status'] ?? 0;
    raw = lines;
  });
  stream.on('trailers', (_headers, _flags, lines) => {
    trailers = lines;
  });
  stream.on('data', (chunk: Buffer) => body.push(chunk));
  return new Promise((resolve) =>
    stream.once('close', () =>
      resolve({
        status,
        raw,
        body: Buffer.concat(body).toString('latin1'),
        trailers,
        code: stream.rstCode ?? 0,
      }),
    ),
  );
}
