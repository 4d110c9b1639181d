/** A token request on its way: to a scripted endpoint over TLS, judged and verified as every origin is. */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseAddress } from '../../core-lite/network/address.ts';
import { parseOpenNetworks } from '../../core-lite/network/open-network.ts';
import { Resolver } from '../../core-lite/network/resolve.ts';
import { parseTarget } from '../../core-lite/network/target.ts';
import { Secret } from '../../core-lite/secret.ts';
import { OauthFailure } from '../../core-lite/vault/oauth-failure.ts';
import { makeTokenRequest, type TokenReply } from '../../core-lite/vault/oauth-request.ts';
import { OriginTls } from '../../egress/act/secure-origin.ts';
import { decideTokenRequest } from '../../egress/decide/token-request.ts';
import { makeTokenSender } from '../../egress/oauth-send.ts';
import type { Parent } from '../../egress/parent/parent.ts';
import type { Peer } from '../support/client.ts';
import { freePort } from '../support/origin.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'login.bound.test';
const JSON_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

let endpoint: TlsOrigin;
let resolver: Resolver;
const open: Peer[] = [];

beforeAll(async () => {
  endpoint = await startTlsOrigin({ name: HOST });
  resolver = new Resolver({
    servers: ['127.0.0.1:1'],
    hosts: new Map([
      [HOST, ['127.0.0.1']],
      ['other.bound.test', ['127.0.0.1']],
      ['closed.test', ['127.0.0.1']],
    ]),
    timeoutMs: 200,
    now: () => performance.now(),
  });
});
afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
  endpoint.forget();
});
afterAll(async () => {
  resolver?.close();
  await endpoint?.close();
});

describe('a token request', () => {
  it('is one POST of a form, and its answer comes back closed', async () => {
    const sent = send();
    const peer = await next();
    const request = await peer.answer();
    expect(request.text).toBe(
      `POST /token?v=2 HTTP/1.1\r\nHost: ${HOST}:${endpoint.port}\r\nAccept: application/json\r\n` +
        'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 29\r\n' +
        `Authorization: Basic ${Buffer.from('client-1:canary-client-secret').toString('base64')}\r\n` +
        'User-Agent: sallyport\r\nConnection: close\r\n\r\ngrant_type=client_credentials',
    );
    peer.send(
      `${JSON_HEAD}Retry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n`,
    );
    const reply = (await sent) as TokenReply;
    expect(reply).toMatchObject({ status: 200, retryAfterS: 7 });
    expect(reply.body.reveal()).toBe('{"a":1}');
    expect(JSON.stringify(reply)).not.toContain('"a"');
    expect(await peer.ending()).toBe('end');
  });

  it('does not follow a redirect', async () => {
    const before = endpoint.peers.length;
    const sent = send();
    (await next()).send(
      `HTTP/1.1 307 Over There\r\nLocation: https://${HOST}:${endpoint.port}/x\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(await sent).toMatchObject({ status: 307 });
    expect(endpoint.peers).toHaveLength(before + 1);
  });

  it('takes 64 KiB and no more', async () => {
    const fits = send();
    (await next()).send(`${JSON_HEAD}Content-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`);
    expect(((await fits) as TokenReply).body.reveal()).toHaveLength(65_536);
    const tooLarge = send();
    (await next()).send(`${JSON_HEAD}Content-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`);
    expect(((await tooLarge) as TokenReply).body.reveal()).toBe('');
  });

  it.each<[name: string, answer: string]>([
    ['what is not HTTP', 'canary\r\n\r\n'],
    ['an answer that breaks off', `${JSON_HEAD}Content-Length: 100\r\n\r\n{"access_token":"canary`],
    ['a head without end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['two lengths', `${JSON_HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  ])('takes %s for no answer', async (_, answer) => {
    const sent = send();
    const peer = await next();
    peer.send(answer).finish();
    expect(await sent).toEqual(new OauthFailure('OAUTH_UNREACHABLE'));
  });

  it('ends when it is told to, wherever it is', async () => {
    const stop = new AbortController();
    const sent = send({ signal: stop.signal });
    const peer = await next();
    await peer.answer();
    stop.abort();
    expect(await sent).toEqual(new OauthFailure('OAUTH_UNREACHABLE'));
    expect(await send({ signal: stop.signal })).toEqual(new OauthFailure('OAUTH_UNREACHABLE'));
  });
});

describe('behind a parent proxy', () => {
  it('goes through it and nowhere else, and inside names are refused before it', async () => {
    const asked: string[] = [];
    const tunnel = async (_proof: unknown, { host }: { host: string }) => {
      asked.push(host);
      return connect({ host: '127.0.0.1', port: endpoint.port });
    };
    const parent = { tunnel } as unknown as Parent;
    const sent = send({ parent, open: '' });
    (await next()).send(`${JSON_HEAD}Content-Length: 2\r\n\r\n{}`);
    expect(await sent).toMatchObject({ status: 200 });
    expect(await send({ parent, host: 'login.localhost' })).toMatchObject({ code: 'OAUTH_ADDRESS_REFUSED' });
    expect(asked).toEqual([HOST]);
  });
});

describe('nothing is sent', () => {
  it.each<[name: string, options: SendOptions, code: string]>([
    ['to a private address', { open: '' }, 'OAUTH_ADDRESS_REFUSED'],
    ['to a name that nobody knows', { host: 'unknown.bound.test' }, 'OAUTH_UNREACHABLE'],
    ['to whoever shows another certificate', { host: 'other.bound.test' }, 'OAUTH_CERTIFICATE'],
    ['to whoever is not trusted', { roots: [] }, 'OAUTH_CERTIFICATE'],
  ])('%s', async (_, options, code) => {
    const before = endpoint.peers.filter(({ received }) => received.length > 0).length;
    expect(await send(options)).toMatchObject({ code });
    expect(endpoint.peers.filter(({ received }) => received.length > 0)).toHaveLength(before);
  });

  it('where nobody listens', async () => {
    expect(
      await send({ host: 'closed.test', port: await freePort(), open: 'closed.test=127.0.0.0/8' }),
    ).toEqual(new OauthFailure('OAUTH_UNREACHABLE'));
  });
});

it('the decision drops what is not public and not opened', () => {
  const target = parseTarget(`${HOST}:443`);
  if (!target) return expect.unreachable();
  const addresses = ['10.0.0.1', '198.51.100.1', '93.184.216.34']
    .map(parseAddress)
    .filter((address) => address !== null);
  const judged = decideTokenRequest({ target, addresses, openNetworks: [], nat64Prefixes: [] });
  expect(judged.allowed.map(({ text }) => text)).toEqual(['93.184.216.34']);
  expect(judged.decision.verdict).toBe('allowed');
});

interface SendOptions {
  readonly host?: string;
  readonly port?: number;
  readonly open?: string;
  readonly roots?: readonly string[];
  readonly parent?: Parent;
  readonly signal?: AbortSignal;
}

function send(options: SendOptions = {}): Promise<TokenReply | OauthFailure> {
  const { host = HOST, port = endpoint.port, open: networks = '*.bound.test=127.0.0.0/8' } = options;
  const { roots = [endpoint.caPem], signal = new AbortController().signal } = options;
  const settings = {
    tokenUrl: `https://${host}:${port}/token?v=2`,
    clientId: 'client-1',
    grant: 'client_credentials',
  } as const;
  const request = makeTokenRequest(settings, { client_secret: new Secret('canary-client-secret') }, null);
  const sender = makeTokenSender({
    resolver,
    openNetworks: parseOpenNetworks(networks).networks,
    nat64Prefixes: [],
    originTls: new OriginTls(roots),
    parent: options.parent ?? null,
  });
  return sender(request, signal);
}

async function next(): Promise<Peer> {
  const peer = await endpoint.next();
  open.push(peer);
  return peer;
}
