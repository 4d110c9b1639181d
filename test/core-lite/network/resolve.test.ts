import { afterEach, describe, expect, it } from 'vitest';
import { isFault } from '../../../core-lite/errors.ts';
import { parseHostsFile } from '../../../core-lite/network/hosts-file.ts';
import { ResolveFailure, Resolver, type ResolverOptions } from '../../../core-lite/network/resolve.ts';
import { type DnsServer, type DnsTable, startDnsServer } from '../../support/dns-server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(table: DnsTable, options: Partial<ResolverOptions> = {}) {
  const clock = { ms: 0 };
  const server: DnsServer = await startDnsServer(table);
  const resolver = new Resolver({ servers: [server.address], now: () => clock.ms, ...options });
  closers.push(() => resolver.close(), server.close);
  const resolve = async (host: string, signal = NEVER) =>
    (await resolver.resolve(host, signal)).map((address) => address.text);
  return { clock, server, resolver, resolve };
}

/** The code of the failure, or what came instead. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    return error instanceof ResolveFailure ? error.code : error;
  }
}

describe('what a look-up gives', () => {
  it.each<[string, DnsTable[string], readonly string[]]>([
    ['both families, IPv6 first', { a: ['192.0.2.1'], aaaa: ['2001:db8::1'] }, ['2001:db8::1', '192.0.2.1']],
    ['A only', { a: ['192.0.2.1', '192.0.2.2'] }, ['192.0.2.1', '192.0.2.2']],
    ['AAAA only', { aaaa: ['2001:db8::1'] }, ['2001:db8::1']],
    ['A while AAAA fails', { a: ['192.0.2.1'], aaaa: 'servfail' }, ['192.0.2.1']],
    ['A while AAAA does not exist', { a: ['192.0.2.1'], aaaa: 'nxdomain' }, ['192.0.2.1']],
    ['A while AAAA is silent', { a: ['192.0.2.1'], aaaa: 'silence' }, ['192.0.2.1']],
    ['AAAA while A is refused', { a: 'refused', aaaa: ['2001:db8::1'] }, ['2001:db8::1']],
    ['through aliases', { a: ['192.0.2.1'], via: ['b.test', 'c.test'] }, ['192.0.2.1']],
    ['an address once', { a: ['192.0.2.1', '192.0.2.1'] }, ['192.0.2.1']],
    ['a mapped address as it is', { aaaa: ['::ffff:10.0.0.1'] }, ['::ffff:a00:1']],
  ])('%s', async (_, steps, expected) => {
    const { resolve } = await start({ 'a.test': steps });
    expect(await resolve('a.test')).toEqual(expected);
  });

  it('asks for the very name, without search domains', async () => {
    const { resolve, server } = await start({ single: { a: ['192.0.2.1'] } });
    await resolve('single');
    expect(server.lookups).toHaveLength(2);
    expect(server.lookups).toEqual(
      expect.arrayContaining([
        { name: 'single', type: 'A' },
        { name: 'single', type: 'AAAA' },
      ]),
    );
  });

  it('keeps at most 64 addresses, of both families', async () => {
    const four = Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`);
    const six = Array.from({ length: 50 }, (_, index) => `2001:db8::${index + 1}`);
    const { resolve } = await start({ 'many.test': { a: four, aaaa: six } });
    const found = await resolve('many.test');
    expect(found).toHaveLength(64);
    expect(found).toContain('192.0.2.31');
  });
});

describe('how a look-up fails', () => {
  it.each<[string, DnsTable[string], string]>([
    ['no such name', 'nxdomain', 'not_found'],
    ['no address', 'nodata', 'not_found'],
    ['an alias to nothing', { a: [], aaaa: [], via: ['b.test'] }, 'not_found'],
    ['an alias loop', { a: [], aaaa: [], via: ['b.test', 'a.test', 'b.test', 'a.test'] }, 'not_found'],
    ['a server that fails', 'servfail', 'no_answer'],
    ['a server that refuses', 'refused', 'no_answer'],
    ['no A, and AAAA fails', { a: 'nodata', aaaa: 'servfail' }, 'no_answer'],
    ['no such name by A, and AAAA fails', { a: 'nxdomain', aaaa: 'servfail' }, 'not_found'],
  ])('%s', async (_, steps, code) => {
    const { resolver } = await start({ 'a.test': steps });
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe(code);
  });

  it('within its time when the server is silent', async () => {
    const { resolver } = await start({ 'a.test': 'silence' }, { timeoutMs: 150 });
    const startedAt = performance.now();
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('no_answer');
    expect(performance.now() - startedAt).toBeLessThan(3000);
  });

  it('within its time however many servers are silent', async () => {
    const servers = await Promise.all(
      Array.from({ length: 10 }, () => startDnsServer({ '*.test': 'silence' })),
    );
    const resolver = new Resolver({
      servers: servers.map((each) => each.address),
      timeoutMs: 300,
      now: () => 0,
    });
    closers.push(() => resolver.close(), ...servers.map((each) => each.close));
    const startedAt = performance.now();
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('no_answer');
    // Left to themselves, two tries at each server would take three seconds.
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  it('for nobody when every waiter has left', async () => {
    const { resolver } = await start({ 'a.test': 'servfail' });
    const leaving = new AbortController();
    const left = failureOf(resolver.resolve('a.test', leaving.signal));
    leaving.abort('left');
    expect(await left).toBe('left');
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('no_answer');
  });

  it('within its time when nothing listens', async () => {
    const { resolver, server } = await start({}, { timeoutMs: 150 });
    await server.close();
    closers.splice(1);
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('no_answer');
  });

  it('is not remembered', async () => {
    const { resolve, resolver } = await start({ 'a.test': ['nxdomain', { a: ['192.0.2.1'] }] });
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('not_found');
    expect(await resolve('a.test')).toEqual(['192.0.2.1']);
  });
});

describe('the memory', () => {
  const rebinding = (ttl: number): DnsTable => ({
    'a.test': [
      { a: ['192.0.2.1'], ttl },
      { a: ['10.0.0.1'], ttl },
    ],
  });

  it.each([
    ['the TTL', 5, 4_999, 5_000],
    ['30 seconds at most', 86_400, 29_999, 30_000],
  ])('keeps an answer for %s', async (_, ttl, during, after) => {
    const { clock, resolve, server } = await start(rebinding(ttl));
    expect(await resolve('a.test')).toEqual(['192.0.2.1']);
    clock.ms = during;
    expect(await resolve('a.test')).toEqual(['192.0.2.1']);
    expect(server.lookups).toHaveLength(2);
    clock.ms = after;
    expect(await resolve('a.test')).toEqual(['10.0.0.1']);
  });

  it('takes the lower TTL of both families', async () => {
    const table: DnsTable = { 'a.test': [{ a: ['192.0.2.1'], aaaa: ['2001:db8::1'], ttl: 3 }, 'nxdomain'] };
    const { clock, resolver, resolve } = await start(table);
    await resolve('a.test');
    clock.ms = 3_000;
    expect(await failureOf(resolver.resolve('a.test', NEVER))).toBe('not_found');
  });

  it('uses an answer with TTL 0 once', async () => {
    const { resolve } = await start(rebinding(0));
    expect(await resolve('a.test')).toEqual(['192.0.2.1']);
    expect(await resolve('a.test')).toEqual(['10.0.0.1']);
  });

  it('drops the name that was least recently used', async () => {
    const { resolve, server } = await start({ '*.test': { a: ['192.0.2.1'] } }, { maxNames: 2 });
    for (const host of ['a.test', 'b.test', 'a.test', 'c.test', 'a.test']) await resolve(host);
    const askedFor = (name: string) => server.lookups.filter((lookup) => lookup.name === name).length;
    expect(['a.test', 'b.test', 'c.test'].map(askedFor)).toEqual([2, 2, 2]);
    await resolve('b.test');
    expect(askedFor('b.test')).toBe(4);
  });
});

describe('waiters', () => {
  it('of one name share one look-up', async () => {
    const { resolve, server } = await start({ 'a.test': { a: ['192.0.2.1'], ttl: 0 } });
    const all = await Promise.all(Array.from({ length: 20 }, () => resolve('a.test')));
    expect(new Set(all.flat())).toEqual(new Set(['192.0.2.1']));
    expect(server.lookups).toHaveLength(2);
  });

  it('leave without taking the look-up from the others', async () => {
    const { resolve, resolver } = await start({ 'a.test': { a: ['192.0.2.1'], ttl: 0 } });
    const leaving = new AbortController();
    const left = failureOf(resolver.resolve('a.test', leaving.signal));
    const stayed = resolve('a.test');
    const reason = new Error('left');
    leaving.abort(reason);
    expect(await left).toBe(reason);
    expect(await stayed).toEqual(['192.0.2.1']);
  });

  it('that come aborted ask nothing', async () => {
    const { resolver, server } = await start({ 'a.test': { a: ['192.0.2.1'] } });
    const reason = new Error('late');
    expect(await failureOf(resolver.resolve('a.test', AbortSignal.abort(reason)))).toBe(reason);
    expect(server.lookups).toEqual([]);
  });

  it('are let go by close, and none comes after it', async () => {
    const { resolver } = await start({ 'a.test': 'silence' });
    const waiting = failureOf(resolver.resolve('a.test', NEVER));
    resolver.close();
    expect(await waiting).toBe('no_answer');
    expect(await failureOf(resolver.resolve('b.test', NEVER))).toBe('no_answer');
  });
});

describe('settings', () => {
  it('prefers the hosts file and asks nobody then', async () => {
    const hosts = parseHostsFile('192.0.2.7 a.test\n2001:db8::7 a.test');
    const { resolve, server } = await start({ 'a.test': { a: ['192.0.2.1'] } }, { hosts });
    expect(await resolve('a.test')).toEqual(['192.0.2.7', '2001:db8::7']);
    expect(server.lookups).toEqual([]);
  });

  it('does not read the hosts file of the system', async () => {
    const { resolver } = await start({});
    expect(await failureOf(resolver.resolve('localhost', NEVER))).toBe('not_found');
  });

  it('goes on to the next server when one does not answer', async () => {
    const silent = await startDnsServer({ 'a.test': 'silence' });
    const answering = await startDnsServer({ 'a.test': { a: ['192.0.2.1'] } });
    const resolver = new Resolver({
      servers: [silent.address, answering.address],
      timeoutMs: 900,
      now: () => 0,
    });
    closers.push(() => resolver.close(), silent.close, answering.close);
    expect(await resolver.resolve('a.test', NEVER)).toMatchObject([{ text: '192.0.2.1' }]);
  });

  it.each<[string, Partial<ResolverOptions>]>([
    ['a server that is a name', { servers: ['dns.example'] }],
    ['an address that is none', { hosts: new Map([['a.test', ['127.1']]]) }],
  ])('refuses %s', (_, options) => {
    expect(() => new Resolver({ now: () => 0, ...options })).toThrow(
      expect.toSatisfy((error) => isFault(error, 'config_invalid')),
    );
  });
});

const NEVER = new AbortController().signal;
