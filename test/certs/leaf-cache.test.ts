import { randomBytes } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { LeafCache, type LeafCacheOptions } from '../../certs/leaf-cache.ts';
import { serve, serveOneHost, shakeHands, type TestServer } from './tls-pair.ts';

const DAY_MS = 24 * 3_600_000;
const NOW = new Date();
const MATERIAL = makeAuthority({ name: 'egress 1', now: NOW });
const AUTHORITY = openAuthority(MATERIAL);
const TRUSTING = { ca: MATERIAL.certificatePem, servername: 'a.example' };

describe('the contexts', () => {
  test('a host keeps its context, and another has another', () => {
    const cache = new LeafCache(AUTHORITY);
    const context = cache.contextFor('a.example', NOW);
    expect(cache.contextFor('a.example', NOW)).toBe(context);
    expect(cache.contextFor('b.example', NOW)).not.toBe(context);
    expect(cache.size).toBe(2);
  });

  test('the leaf of our own listener is the same until its last day, or until the CA is another', () => {
    const cache = new LeafCache(AUTHORITY);
    const leafAt = (days: number) =>
      cache.listenerLeaf(['localhost'], new Date(NOW.getTime() + days * DAY_MS));
    const leaf = leafAt(0);
    expect(leafAt(3.9)).toBe(leaf);
    const next = leafAt(4.1);
    expect(next.notAfter.getTime()).toBeGreaterThan(leaf.notAfter.getTime());
    cache.replaceAuthority(openAuthority(makeAuthority({ name: 'egress 2', now: NOW })));
    expect(leafAt(4.1)).not.toBe(next);
  });

  test('the least recently used is dropped when the bound is passed', () => {
    const cache = new LeafCache(AUTHORITY, { maxLeaves: 2 });
    const [first, second] = [cache.contextFor('a.example', NOW), cache.contextFor('b.example', NOW)];
    cache.contextFor('a.example', NOW);
    cache.contextFor('c.example', NOW);
    expect(cache.contextFor('a.example', NOW)).toBe(first);
    expect(cache.contextFor('b.example', NOW)).not.toBe(second);
    expect(cache.size).toBe(2);
  });

  test('the default bound holds', () => {
    const cache = new LeafCache(AUTHORITY);
    for (let index = 0; index < 1100; index += 1) cache.contextFor(`h${index}.example`, NOW);
    expect(cache.size).toBe(1024);
  });

  test.each([
    ['with a day and a second left', 4 * DAY_MS - 2000, true],
    ['with less than a day left', 4 * DAY_MS + 1000, false],
    ['after its end', 6 * DAY_MS, false],
    ['by a clock set back before its beginning', -3 * DAY_MS, false],
  ])('a leaf asked for %s', (_case, laterMs, isKept) => {
    const old = openAuthority(makeAuthority({ name: 'old', now: new Date(NOW.getTime() - 100 * DAY_MS) }));
    const cache = new LeafCache(old);
    const context = cache.contextFor('a.example', NOW);
    expect(cache.contextFor('a.example', new Date(NOW.getTime() + laterMs)) === context).toBe(isKept);
    expect(cache.size).toBe(1);
  });

  test('on the CA’s last day a leaf is kept, since a new one would end no later', () => {
    const cache = new LeafCache(AUTHORITY);
    const lastDay = new Date(AUTHORITY.notAfter.getTime() - DAY_MS / 2);
    const context = cache.contextFor('a.example', lastDay);
    expect(cache.contextFor('a.example', new Date(lastDay.getTime() + 1000))).toBe(context);
    expect(() => cache.contextFor('a.example', AUTHORITY.notAfter)).toThrow(/not valid now/);
  });

  test('a refused host leaves nothing behind', () => {
    const cache = new LeafCache(AUTHORITY);
    expect(() => cache.contextFor('*.example', NOW)).toThrow(/one lower-case DNS name/);
    expect(cache.size).toBe(0);
  });

  test('clear drops all', () => {
    const cache = new LeafCache(AUTHORITY);
    const context = cache.contextFor('a.example', NOW);
    cache.clear();
    expect(cache.size).toBe(0);
    expect(cache.contextFor('a.example', NOW)).not.toBe(context);
  });

  test.each([
    { maxLeaves: 0 },
    { maxLeaves: 1.5 },
    { maxLeaves: Number.NaN },
    { ticketKeys: Buffer.alloc(47) },
  ])('the option %o is refused', (options) => {
    expect(() => new LeafCache(AUTHORITY, options)).toThrow(Error);
  });

  test('the ticket keys do not print', () => {
    const ticketKeys = Buffer.alloc(48, 0xab);
    const cache = new LeafCache(AUTHORITY, { ticketKeys });
    expect(inspect(cache, { depth: null, showHidden: true })).not.toMatch(/ab ab|171,\s*171/);
    expect(JSON.stringify(cache)).not.toMatch(/171/);
  });
});

describe('over TLS', () => {
  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    '%s serves a verified leaf, and the leaf alone',
    async (version) => {
      const { port } = await startServer();
      const handshake = await shakeHands(port, { ...TRUSTING, minVersion: version, maxVersion: version });
      expect(handshake).toMatchObject({ protocol: version, resumed: false, sentIssuer: false });
    },
  );

  test('another generation takes over at once, and the one before is not served again', async () => {
    const next = makeAuthority({ name: 'egress 2', now: NOW });
    const cache = new LeafCache(AUTHORITY);
    const { port } = closedAtEnd(await serve(cache));
    await shakeHands(port, TRUSTING);
    cache.replaceAuthority(openAuthority(next));
    expect(cache.size).toBe(0);
    await shakeHands(port, { ...TRUSTING, ca: next.certificatePem });
    await expect(shakeHands(port, TRUSTING)).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
  });

  test.each([
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ])('a client with %s alone is served', async (cipher) => {
    const { port } = await startServer();
    const version = cipher.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2';
    const handshake = await shakeHands(port, {
      ...TRUSTING,
      ciphers: cipher,
      minVersion: version,
      maxVersion: version,
    });
    expect(handshake.cipher).toBe(cipher);
  });

  const UNSAFE: readonly (readonly [string, ConnectionOptions])[] = [
    ['AES128-SHA', { ciphers: 'AES128-SHA', maxVersion: 'TLSv1.2' }],
    ['ECDHE-ECDSA-AES128-SHA', { ciphers: 'ECDHE-ECDSA-AES128-SHA', maxVersion: 'TLSv1.2' }],
    ['ECDHE-ECDSA-AES128-SHA256', { ciphers: 'ECDHE-ECDSA-AES128-SHA256', maxVersion: 'TLSv1.2' }],
    ['ECDHE-RSA-AES128-GCM-SHA256', { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }],
  ];

  test.each(UNSAFE)('a client with %s alone is refused, with SNI and without', async (_name, options) => {
    for (const server of [await startServer(), await startServerOfOneHost()]) {
      await expect(shakeHands(server.port, { ...TRUSTING, ...options })).rejects.toThrow();
      expect(server.refusals).toEqual(['ERR_SSL_NO_SHARED_CIPHER']);
    }
  });

  test('a client of TLS 1.1 is refused, with SNI and without', async () => {
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    for (const server of [await startServer(), await startServerOfOneHost()]) {
      await expect(shakeHands(server.port, { ...TRUSTING, ...options })).rejects.toThrow();
      expect(server.refusals).toEqual(['ERR_SSL_UNSUPPORTED_PROTOCOL']);
    }
  });
});

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('resumption in %s', (version) => {
  const options = { ...TRUSTING, minVersion: version, maxVersion: version };
  const ticketKeys = randomBytes(48);

  test('a session is resumed by another cache with the same ticket keys', async () => {
    const { session } = await shakeHands((await startServer({ ticketKeys })).port, options);
    const again = await shakeHands((await startServer({ ticketKeys })).port, { ...options, session });
    expect(again.resumed).toBe(true);
  });

  test('contexts that serve alone, without SNI, resume too', async () => {
    const { session } = await shakeHands((await startServerOfOneHost({ ticketKeys })).port, options);
    const again = await shakeHands((await startServerOfOneHost({ ticketKeys })).port, {
      ...options,
      session,
    });
    expect(again.resumed).toBe(true);
  });

  test('a session is not resumed by a cache with other ticket keys', async () => {
    const { session } = await shakeHands((await startServer({ ticketKeys })).port, options);
    const again = await shakeHands((await startServer()).port, { ...options, session });
    expect(again.resumed).toBe(false);
  });

  test('a session of one host is not resumed for another, though they share the keys', async () => {
    const { port } = await startServer({ ticketKeys });
    const { session } = await shakeHands(port, options);
    const other = await shakeHands(port, { ...options, servername: 'b.example', session });
    expect(other.resumed).toBe(false);
  });
});

async function startServer(options: LeafCacheOptions = {}): Promise<TestServer> {
  return closedAtEnd(await serve(new LeafCache(openAuthority(MATERIAL), options)));
}

async function startServerOfOneHost(options: LeafCacheOptions = {}): Promise<TestServer> {
  return closedAtEnd(await serveOneHost(new LeafCache(openAuthority(MATERIAL), options), 'a.example'));
}

function closedAtEnd(server: TestServer): TestServer {
  onTestFinished(() => server.close());
  return server;
}
