/** Current tokens on HTTP/2 streams: a 401 is asked again once with another token, or passed on as it came. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ExchangeRecord } from '../../core-lite/record/exchange-reader.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, startInside } from '../support/inside.ts';
import { issueToken, startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts';

const HOST = 'two.bound.test';
const LOGIN = 'login.bound.test';

let origin: Http2Origin;
let endpoint: TokenEndpoint;
let inside: Inside;
let target: string;
let name = 'n0';
/** The number of the token on each stream that the origin saw. */
let tokens: number[] = [];

beforeAll(async () => {
  origin = await startHttp2Origin(HOST);
  endpoint = await startTokenEndpoint(LOGIN);
  inside = await startInside([HOST, LOGIN], [origin.caPem, endpoint.caPem]);
  target = `${HOST}:${origin.port}`;
});

beforeEach(async () => {
  name = `n${Number(name.slice(1)) + 1}`;
  tokens = [];
  endpoint.answer(issueToken);
  await inside.gate.world.call('PUT', `/v1/vaults/v/credentials/${name}`, {
    kind: 'oauth',
    variable: 'GH_TOKEN',
    hosts: [target],
    tokenUrl: `https://${LOGIN}:${endpoint.port}/token`,
    clientId: 'client-1',
    grant: 'client_credentials',
    secret: { client_secret: 'canary-client-secret' },
  });
  await inside.gate.put(name, { allow: [target], credentials: [`v/${name}`] });
});

afterAll(async () => {
  await inside?.close();
  await Promise.all([origin?.close(), endpoint?.close()]);
});

/** The origin answers the first `refused` streams with 401. */
function refuse(refused: number): void {
  origin.serve(({ stream, raw }) => {
    const value = raw[raw.indexOf('authorization') + 1] ?? '';
    tokens.push(Number(/^Bearer canary-access-(\d+)$/.exec(value)?.[1]));
    const status = tokens.length <= refused ? 401 : 200;
    stream.respond({ ':status': status, 'x-count': String(tokens.length) }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'x-after': 'yes' }));
    stream.end(`answer ${tokens.length}`);
  });
}

async function ask(method: string, body?: string) {
  const session = await inside.session(name, target);
  const head = { ':method': method, ':path': '/x', authorization: 'Bearer sallyport-managed' };
  const stream = session.request(head, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const answer = await readStream(stream);
  session.destroy();
  return answer;
}

describe('an origin’s 401 on a stream', () => {
  it.each(['GET', 'HEAD'])(
    'to a %s is not seen where another token can be had; both are on record',
    async (method) => {
      refuse(1);
      const answer = await ask(method);
      expect(answer).toMatchObject({ status: 200, code: 0, body: method === 'GET' ? 'answer 2' : '' });
      expect(tokens[1]).toBe((tokens[0] ?? 0) + 1);
      await vi.waitFor(
        async () => {
          const rows = await inside.gate.world.call<ExchangeRecord[]>(
            'GET',
            `/v1/exchanges?environment=${name}`,
          );
          expect(rows).toMatchObject([
            { method, status: 200, credentials: [`v/${name}@1.2`] },
            { method, status: 401, credentials: [`v/${name}@1.1`] },
          ]);
        },
        { timeout: 10_000 },
      );
    },
  );

  it('is passed on the second time, with its body and trailers', async () => {
    refuse(2);
    const answer = await ask('GET');
    expect(answer).toMatchObject({ status: 401, code: 0, body: 'answer 2', trailers: ['x-after', 'yes'] });
    expect(tokens).toHaveLength(2);
  });

  it('to a request with a body is passed on as it came, and the next one has another token', async () => {
    refuse(1);
    const answer = await ask('POST', 'body');
    expect(answer).toMatchObject({ status: 401, code: 0, body: 'answer 1', trailers: ['x-after', 'yes'] });
    expect(await ask('POST', 'body')).toMatchObject({ status: 200 });
    expect(tokens[1]).toBe((tokens[0] ?? 0) + 1);
  });

  it('is passed on where no other token can be had', async () => {
    refuse(1);
    origin.server.once('stream', () => endpoint.answer(() => ({ status: 503, body: {} })));
    expect(await ask('GET')).toMatchObject({ status: 401, body: 'answer 1' });
    expect(tokens).toHaveLength(1);
  });

  it.each(['GET', 'HEAD'])(
    'without a body, to a %s, is passed on whole where no other can be had',
    async (method) => {
      origin.serve(({ stream }) => {
        endpoint.answer(() => ({ status: 503, body: {} }));
        stream.respond({ ':status': 401, 'x-bare': 'yes' }, { endStream: true });
      });
      const answer = await ask(method);
      expect(answer).toMatchObject({ status: 401, code: 0, body: '' });
      expect(answer.raw).toContain('x-bare');
    },
  );

  it('to a client that left meanwhile ends both streams', async () => {
    let closed = 0;
    const held = Promise.withResolvers<void>();
    refuse(1);
    origin.server.once('stream', (stream) => {
      held.resolve();
      stream.once('close', () => {
        closed += 1;
      });
    });
    const session = await inside.session(name, target);
    const stream = session.request({ ':path': '/x' });
    stream.on('error', () => {});
    await held.promise;
    session.destroy();
    await expect.poll(() => closed).toBe(1);
  });
});
