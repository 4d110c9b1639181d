/** What a CONNECT's head may look like: every form of credential that clients send, and nothing that is ambiguous. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RefusalReason } from '../../core-lite/reasons.ts';
import { connectTo } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Origin, startOrigin } from '../support/origin.ts';

let gate: TestGate;
let origin: Origin;
let token: string;
let target: string;

beforeAll(async () => {
  origin = await startOrigin({ behave: (socket) => socket.end('here') });
  gate = await startGate({ hosts: '127.0.0.1 open.test\n', open: 'open.test=127.0.0.0/8' });
  target = `open.test:${origin.port}`;
  await gate.put('open', { allow: [target] });
  token = await gate.world.token('open');
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
/** As a client sends it that does not decode the userinfo of its proxy's URL. */
const escapeAll = (text: string) =>
  text.replaceAll(/[^A-Za-z0-9]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
/** A credential whose Base64 needs padding. */
const padded = () => base64([`u:${token}`, `uu:${token}`].find((text) => text.length % 3 !== 0) ?? '');

const CREDENTIALS: readonly [name: string, value: () => string, reason: RefusalReason | null][] = [
  ['the password', () => `Basic ${base64(`any:${token}`)}`, null],
  ['the user before an empty password', () => `Basic ${base64(`${token}:`)}`, null],
  ['the password of no user', () => `Basic ${base64(`:${token}`)}`, null],
  ['a scheme in lower case', () => `basic ${base64(`any:${token}`)}`, null],
  ['a scheme in capitals', () => `BASIC ${base64(`any:${token}`)}`, null],
  ['Base64 with padding', () => `Basic ${padded()}`, null],
  ['Base64 without padding', () => `Basic ${padded().replace(/=+$/, '')}`, null],
  ['several spaces', () => `Basic    ${base64(`any:${token}`)}`, null],
  ['the password, percent-encoded', () => `Basic ${base64(`any:${escapeAll(token)}`)}`, null],
  ['the user, percent-encoded', () => `Basic ${base64(`${escapeAll(token)}:`)}`, null],
  ['Bearer', () => `Bearer ${token}`, null],
  ['bEaReR', () => `bEaReR ${token}`, null],
  ['a user without a colon', () => `Basic ${base64(token)}`, 'token_malformed'],
  ['a user and a wrong password', () => `Basic ${base64(`${token}:x`)}`, 'token_malformed'],
  ['no token in it', () => `Basic ${base64(':')}`, 'token_malformed'],
  ['the scheme alone', () => 'Basic', 'token_malformed'],
  ['the token alone', () => token, 'token_malformed'],
  ['another scheme', () => `Digest ${token}`, 'token_malformed'],
  ['two tokens', () => `Bearer ${token} ${token}`, 'token_malformed'],
  ['a list', () => `Bearer ${token}, Basic ${base64(`any:${token}`)}`, 'token_malformed'],
  ['padding in the middle', () => `Basic ${base64('any:')}${base64(token)}`, 'token_malformed'],
  ['a token with another signature', () => `Bearer ${token.slice(0, -8)}AAAAAAAA`, 'token_untrusted'],
  ['a token of 5 KiB', () => `Bearer ${token}${'A'.repeat(5_000)}`, 'token_malformed'],
];

describe('a credential', () => {
  it.each(CREDENTIALS)('%s', async (_, value, reason) => {
    const client = await connectTo(gate.egress.address.port);
    client.send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: ${value()}\r\n\r\n`);
    const answer = await client.answer();
    expect(answer.headers.get('sallyport-reason') ?? null).toBe(reason);
    expect(answer.status).toBe(reason ? 407 : 200);
    if (!reason) expect(await client.text(4)).toBe('here');
    expect(answer.text).not.toContain(token.slice(-20));
    client.close();
  });
});

const GOOD = (version = '1.1') => `CONNECT ${target} HTTP/${version}\r\n`;
const AUTH = () => `Proxy-Authorization: Bearer ${token}\r\n`;
const HOST = () => `Host: ${target}\r\n`;
const CLIENT_HELLO = Buffer.concat([Buffer.from('1603010200010001fc0303', 'hex'), Buffer.alloc(500, 0xa7)]);

const HEADS: readonly [name: string, head: () => string | Buffer, reason: RefusalReason | null][] = [
  ['as it should be', () => `${GOOD()}${HOST()}${AUTH()}\r\n`, null],
  ['HTTP/1.0 without Host', () => `${GOOD('1.0')}${AUTH()}\r\n`, null],
  ['HTTP/1.0 with Host', () => `${GOOD('1.0')}${HOST()}${AUTH()}\r\n`, null],
  ['200 headers', () => `${GOOD()}${HOST()}${AUTH()}${'x-a: b\r\n'.repeat(198)}\r\n`, null],
  ['a head of 60 KiB', () => `${GOOD()}${HOST()}${AUTH()}x-a: ${'b'.repeat(60 * 1024)}\r\n\r\n`, null],
  ['no Host', () => `${GOOD()}${AUTH()}\r\n`, 'request_malformed'],
  ['two Hosts', () => `${GOOD()}${HOST()}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  ['two Hosts in HTTP/1.0', () => `${GOOD('1.0')}${HOST()}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  ['two Proxy-Authorization', () => `${GOOD()}${HOST()}${AUTH()}${AUTH()}\r\n`, 'request_malformed'],
  ['HTTP/2.0', () => `${GOOD('2.0')}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  ['HTTP/1.2', () => `${GOOD('1.2')}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  ['HTTP/0.9', () => `${GOOD('0.9')}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  ['a length', () => `${GOOD()}${HOST()}${AUTH()}Content-Length: 5\r\n\r\nhello`, 'request_malformed'],
  ['a length of 0', () => `${GOOD()}${HOST()}${AUTH()}Content-Length: 0\r\n\r\n`, 'request_malformed'],
  [
    'chunks',
    () => `${GOOD()}${HOST()}${AUTH()}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'request_malformed',
  ],
  ['201 headers', () => `${GOOD()}${HOST()}${AUTH()}${'x-a: b\r\n'.repeat(199)}\r\n`, 'request_malformed'],
  [
    '3,000 headers',
    () => `${GOOD()}${HOST()}${AUTH()}${'x-a: b\r\n'.repeat(3_000)}\r\n`,
    'request_malformed',
  ],
  [
    'a token behind 3,000 headers',
    () => `${GOOD()}${HOST()}${'x-a: b\r\n'.repeat(3_000)}${AUTH()}\r\n`,
    'request_malformed',
  ],
  [
    'a head of 70 KiB',
    () => `${GOOD()}${HOST()}${AUTH()}x-a: ${'b'.repeat(70 * 1024)}\r\n\r\n`,
    'request_malformed',
  ],
  [
    'a head of 1 MiB',
    () => `${GOOD()}${HOST()}${AUTH()}x-a: ${'b'.repeat(1024 * 1024)}\r\n\r\n`,
    'request_malformed',
  ],
  [
    'a method in lower case',
    () => `connect ${target} HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`,
    'request_malformed',
  ],
  [
    'a space before the colon',
    () => `${GOOD()}${HOST()}Proxy-Authorization : Bearer ${token}\r\n\r\n`,
    'request_malformed',
  ],
  ['a NUL in a value', () => `${GOOD()}${HOST()}${AUTH()}x-a: b\0c\r\n\r\n`, 'request_malformed'],
  ['TLS', () => CLIENT_HELLO, 'request_malformed'],
  ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'request_malformed'],
  ['one empty line before it', () => `\r\n${GOOD()}${HOST()}${AUTH()}\r\n`, null],
  ['two empty lines before it', () => `\r\n\r\n${GOOD()}${HOST()}${AUTH()}\r\n`, 'request_malformed'],
  [
    'two spaces after the method',
    () => `CONNECT  ${target} HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`,
    'request_malformed',
  ],
  [
    'a space after the target',
    () => `CONNECT ${target}  HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`,
    'request_malformed',
  ],
  [
    'lines that end with LF alone',
    () => `${GOOD()}${HOST()}${AUTH()}\r\n`.replaceAll('\r', ''),
    'request_malformed',
  ],
  ['a folded line', () => `${GOOD()}${HOST()}${AUTH()} x\r\n\r\n`, 'request_malformed'],
  ['noise', () => '\0\u0001\u0002\r\n\r\n', 'request_malformed'],
  ['a URL', () => `CONNECT https://${target}/ HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`, 'target_malformed'],
  [
    'a user in the target',
    () => `CONNECT a@${target} HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`,
    'target_malformed',
  ],
  [
    'a fragment in the target',
    () => `CONNECT ${target}#a HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`,
    'target_malformed',
  ],
  [
    'a token in Authorization',
    () => `${GOOD()}${HOST()}Authorization: Bearer ${token}\r\n\r\n`,
    'token_missing',
  ],
  ['GET of a path', () => `GET /v1/environments HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`, 'target_missing'],
  ['GET of the proxy itself', () => `GET ${target} HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`, 'target_missing'],
  ['OPTIONS *', () => `OPTIONS * HTTP/1.1\r\n${HOST()}${AUTH()}\r\n`, 'target_missing'],
];

describe('a head', () => {
  it.each(HEADS)('%s', async (_, head, reason) => {
    const before = origin.reached;
    const client = await connectTo(gate.egress.address.port);
    const answer = await client.send(head()).answer();
    expect(answer.headers.get('sallyport-reason') ?? null).toBe(reason);
    if (reason === null) {
      expect(await client.text(4)).toBe('here');
    } else {
      if (reason !== 'token_missing') expect(await client.ending()).toBe('end');
      expect(client.received.length).toBe(0);
      expect(origin.reached).toBe(before);
    }
    client.close();
  });

  it.each([1, 7, 100])('in pieces of %i bytes', async (size) => {
    const client = await connectTo(gate.egress.address.port);
    const text = `${GOOD()}${HOST()}${AUTH()}\r\n`;
    for (let at = 0; at < text.length; at += size) {
      await new Promise((resolve) => client.socket.write(text.slice(at, at + size), resolve));
    }
    expect((await client.answer()).status).toBe(200);
    client.close();
  });

  it('answers a refused client that goes on sending', async () => {
    const client = await connectTo(gate.egress.address.port);
    client.send(`CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n${AUTH()}\r\n`);
    for (let i = 0; i < 64; i += 1) client.send(Buffer.alloc(64 * 1024));
    expect((await client.answer()).status).toBe(403);
    expect(await client.ending()).toBe('end');
    client.close();
  });
});
