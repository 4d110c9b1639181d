/**
 * gRPC through interceptions, with its own client and server: every kind of call, trailers, deadlines, cancelling. The
 * client reaches the gate by its proxy variable, as a workload does.
 */
import {
  type CallOptions,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { type Inside, SECRET, startInside } from '../support/inside.ts';

const HOST = 'grpc.bound.test';
let server: Server;
let inside: Inside;
let target: string;
let client: Client;
const ended: string[] = [];
/** What came as the credential. */
const seen: string[] = [];

const asIs = (bytes: Buffer): Buffer => bytes;
const method = (
  path: string,
  requestStream: boolean,
  responseStream: boolean,
): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
const METHODS = {
  echo: method('/t.T/Echo', false, false),
  fail: method('/t.T/Fail', false, false),
  hang: method('/t.T/Hang', false, false),
  count: method('/t.T/Count', false, true),
  chat: method('/t.T/Chat', true, true),
};

beforeAll(async () => {
  const authority = openAuthority(makeAuthority({ name: 'Test origin grpc', now: new Date() }));
  const leaf = issueLeaf(authority, HOST, new Date());
  server = new Server();
  server.addService(METHODS, {
    echo: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      const trailers = new Metadata();
      trailers.set('x-sum', '5');
      seen.push(String(call.metadata.get('authorization')[0]));
      done(null, call.request, trailers);
    },
    fail: (_call: unknown, done: sendUnaryData<Buffer>) =>
      done({ code: status.FAILED_PRECONDITION, details: 'not now: ü' }),
    hang: (call: ServerUnaryCall<Buffer, Buffer>) => call.on('cancelled', () => ended.push('hang')),
    count: async (call: ServerDuplexStream<Buffer, Buffer>) => {
      for (let i = 0; i < 2_000; i++) {
        if (!call.write(Buffer.alloc(1_000, i))) await new Promise((resolve) => call.once('drain', resolve));
      }
      call.end();
    },
    chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (message) => call.write(message));
      call.on('end', () => call.end());
      call.on('cancelled', () => ended.push('chat'));
    },
  });
  const pair = { private_key: Buffer.from(leaf.keyPem), cert_chain: Buffer.from(leaf.certificatePem) };
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  inside = await startInside([HOST], [authority.certificatePem]);
  target = `${HOST}:${port}`;
  await inside.bind('e', [target]);
  const token = await inside.gate.world.token('e');
  process.env['grpc_proxy'] = `http://sallyport:${token}@127.0.0.1:${inside.gate.egress.address.port}`;
  client = new Client(target, credentials.createSsl(Buffer.from(inside.caPem)));
  await new Promise<void>((resolve, reject) =>
    client.waitForReady(Date.now() + 10_000, (error) => (error ? reject(error) : resolve())),
  );
});

afterAll(async () => {
  delete process.env['grpc_proxy'];
  client?.close();
  server?.forceShutdown();
  await inside?.close();
});

interface Outcome {
  readonly error: ServiceError | null;
  readonly value: Buffer | undefined;
  readonly trailers: Metadata | undefined;
}

function call(path: string, options: CallOptions = {}, cancelled = false): Promise<Outcome> {
  return new Promise((resolve) => {
    let outcome: Omit<Outcome, 'trailers'> = { error: null, value: undefined };
    const unary = client.makeUnaryRequest(
      path,
      asIs,
      asIs,
      Buffer.from('hello'),
      new Metadata(),
      options,
      (error, value) => {
        outcome = { error, value };
      },
    );
    unary.once('status', ({ metadata }) => setImmediate(() => resolve({ ...outcome, trailers: metadata })));
    if (cancelled) setImmediate(() => unary.cancel());
  });
}

describe('a unary call', () => {
  it('is answered, with trailers; the origin has the secret', async () => {
    const { value, trailers } = await call(METHODS.echo.path);
    expect(value?.toString()).toBe('hello');
    expect(trailers?.get('x-sum')).toEqual(['5']);
    expect(seen).toEqual([`Bearer ${SECRET}`]);
  });

  it('that fails says so, without a message', async () => {
    const { error } = await call(METHODS.fail.path);
    expect(error).toMatchObject({ code: status.FAILED_PRECONDITION, details: 'not now: ü' });
  });

  it('past its deadline is cancelled at the origin', async () => {
    ended.length = 0;
    const { error } = await call(METHODS.hang.path, { deadline: Date.now() + 300 });
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    await expect.poll(() => ended).toEqual(['hang']);
  });
});

describe('a stream', () => {
  it('of the server comes whole', async () => {
    const stream = client.makeServerStreamRequest(METHODS.count.path, asIs, asIs, Buffer.alloc(0));
    let messages = 0;
    stream.on('data', (message: Buffer) => {
      expect(message.equals(Buffer.alloc(1_000, messages))).toBe(true);
      messages += 1;
    });
    const end = await new Promise((resolve) => stream.once('status', ({ code }) => resolve(code)));
    expect([messages, end]).toEqual([2_000, status.OK]);
  });

  it('both ways: message by message, half-close, then the status', async () => {
    const stream = client.makeBidiStreamRequest(METHODS.chat.path, asIs, asIs);
    for (const text of ['one', 'two', 'three']) {
      const echoed = new Promise((resolve) => stream.once('data', resolve));
      stream.write(Buffer.from(text));
      expect(String(await echoed)).toBe(text);
    }
    const end = new Promise((resolve) => stream.once('status', ({ code }) => resolve(code)));
    stream.end();
    expect(await end).toBe(status.OK);
  });

  it('that is cancelled is cancelled at the origin at once, and others go on', async () => {
    ended.length = 0;
    const stays = client.makeBidiStreamRequest(METHODS.chat.path, asIs, asIs);
    const goes = client.makeBidiStreamRequest(METHODS.chat.path, asIs, asIs);
    goes.on('error', () => {});
    const begun = new Promise((resolve) => goes.once('data', resolve));
    goes.write(Buffer.from('x'));
    await begun;
    goes.cancel();
    await expect.poll(() => ended).toEqual(['chat']);
    const echoed = new Promise((resolve) => stays.once('data', resolve));
    stays.write(Buffer.from('still'));
    expect(String(await echoed)).toBe('still');
    const end = new Promise((resolve) => stays.once('status', ({ code }) => resolve(code)));
    stays.end();
    expect(await end).toBe(status.OK);
  });
});
