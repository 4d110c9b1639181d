/**
 * Names to addresses: the operator's hosts file first, then A and AAAA at the configured servers. Never getaddrinfo,
 * which reads the system's hosts file, search domains and mDNS, and waits on a pool of four threads. Only what was
 * resolved here is judged and dialled; nothing here says whether it may be. Only names that a decision has let
 * through come here, because a look-up carries its name out to whoever serves the zone.
 */
import { promises as dns, NODATA, NOTFOUND } from 'node:dns';
import { Fault } from '../errors.ts';
import { type Address, parseAddress } from './address.ts';
import { AddressCache } from './address-cache.ts';

export interface ResolverOptions {
  /**
   * `address[:port]`; the system's servers when absent or empty. The next is asked when one does not answer; an
   * answer that says it failed is final (Node's c-ares takes it so).
   */
  readonly servers?: readonly string[];
  /** Name -> addresses, as `parseHostsFile` gives it. */
  readonly hosts?: ReadonlyMap<string, readonly string[]>;
  /** How long one whole look-up may take, whatever the servers do. Default 5000. */
  readonly timeoutMs?: number;
  /** How many names are remembered. Default 2048. */
  readonly maxNames?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** `not_found`: there is no such name, or it has no address. `no_answer`: nobody could say. */
export type ResolveFailureCode = 'not_found' | 'no_answer';

/** Why a name has no addresses. Not a `Fault`: it is the world's doing, and the caller answers it as a refusal. */
export class ResolveFailure extends Error {
  readonly code: ResolveFailureCode;

  constructor(code: ResolveFailureCode, cause?: unknown) {
    super(code, { cause });
    this.name = 'ResolveFailure';
    this.code = code;
  }
}

export class Resolver {
  readonly #dns: dns.Resolver;
  readonly #hosts: ReadonlyMap<string, readonly Address[]>;
  readonly #timeoutMs: number;
  readonly #cache: AddressCache;
  readonly #running = new Map<string, Promise<readonly Address[]>>();
  readonly #closed = new AbortController();

  /** @throws Fault `config_invalid` when a server or an address of `hosts` cannot be read. */
  constructor({ servers = [], hosts = new Map(), timeoutMs = 5000, maxNames = 2048, now }: ResolverOptions) {
    this.#timeoutMs = timeoutMs;
    this.#cache = new AddressCache(maxNames, now);
    this.#hosts = new Map(Array.from(hosts, ([name, texts]) => [name, texts.map(knownAddress)]));
    // Two tries at a server, the second twice as long: together they are the whole time.
    this.#dns = new dns.Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers.length > 0) useServers(this.#dns, servers);
  }

  /**
   * All addresses of `host`, IPv6 first, at least one and at most 64, without repetition. Look-ups of one name that
   * run at once are one look-up; a waiter that leaves does not end it for the others.
   *
   * @param host a name in its one spelling, as a `Target` has it
   * @throws ResolveFailure; the reason of `signal` when that is aborted first
   */
  async resolve(host: string, signal: AbortSignal): Promise<readonly Address[]> {
    signal.throwIfAborted();
    const known = this.#hosts.get(host) ?? this.#cache.read(host);
    return known ?? (await unlessAborted(this.#join(host), signal));
  }

  /** Ends every look-up with `no_answer`; later ones are refused the same way. */
  close(): void {
    this.#closed.abort(new ResolveFailure('no_answer'));
    this.#dns.cancel();
  }

  #join(host: string): Promise<readonly Address[]> {
    const running = this.#running.get(host);
    if (running !== undefined) return running;
    const started = this.#lookUp(host).finally(() => this.#running.delete(host));
    this.#running.set(host, started);
    return started;
  }

  async #lookUp(host: string): Promise<readonly Address[]> {
    this.#closed.signal.throwIfAborted();
    const six = readFamily(this.#dns.resolve6(host, { ttl: true }));
    const four = readFamily(this.#dns.resolve4(host, { ttl: true }));
    const answers = await this.#collect([six, four]);
    const found = answers.filter((answer) => 'addresses' in answer);
    if (found.length === 0) throw failureOf(answers);
    const addresses = found.flatMap((answer) => answer.addresses);
    this.#cache.store(host, addresses, Math.min(...found.map((answer) => answer.ttlSeconds)));
    return addresses;
  }

  /** The answers of both families, or of one when the other stays silent for too long. Bounded by `timeoutMs`. */
  async #collect(families: readonly Promise<FamilyAnswer>[]): Promise<readonly FamilyAnswer[]> {
    const answers: FamilyAnswer[] = families.map(() => new ResolveFailure('no_answer'));
    const { promise: enough, resolve: finish } = Promise.withResolvers<void>();
    const timers = [setTimeout(finish, this.#timeoutMs)];
    const waits = families.map(async (family, index) => {
      const answer = await family;
      answers[index] = answer;
      // One that comes after the end starts a timer that nobody clears: it must not keep the process.
      if ('addresses' in answer) timers.push(setTimeout(finish, SLOW_FAMILY_MS).unref());
    });
    await Promise.race([enough, Promise.all(waits)]);
    for (const timer of timers) clearTimeout(timer);
    return answers.slice();
  }
}

type FamilyAnswer = { readonly addresses: readonly Address[]; readonly ttlSeconds: number } | ResolveFailure;

/** Never rejects. An answer without an address is `not_found`, as an empty answer is. */
async function readFamily(query: Promise<readonly RecordWithTtl[]>): Promise<FamilyAnswer> {
  try {
    const records = await query;
    const texts = new Set(records.slice(0, MAX_OF_FAMILY).map((record) => record.address));
    const addresses = Array.from(texts, parseAddress).filter((address) => address !== null);
    if (addresses.length === 0) return new ResolveFailure('not_found');
    return { addresses, ttlSeconds: Math.min(...records.map((record) => record.ttl)) };
  } catch (error) {
    return new ResolveFailure(NOT_FOUND_CODES.has(codeOf(error)) ? 'not_found' : 'no_answer', error);
  }
}

/** A name that does not exist, does not for either family; one that has no address has none in both. */
function failureOf(answers: readonly FamilyAnswer[]): ResolveFailure {
  const failures = answers.filter((answer) => answer instanceof ResolveFailure);
  const missing = failures.find((failure) => codeOf(failure.cause) === NOTFOUND);
  const silent = failures.find((failure) => failure.code === 'no_answer');
  return missing ?? silent ?? failures[0] ?? new ResolveFailure('not_found');
}

/** What `promise` gives, or the reason of `signal` if that comes first; the promise itself goes on. */
async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function useServers(resolver: dns.Resolver, servers: readonly string[]): void {
  try {
    resolver.setServers(servers);
  } catch (error) {
    throw new Fault(
      'config_invalid',
      `a DNS server is address or address:port, not: ${servers.join(', ')}`,
      error,
    );
  }
}

function knownAddress(text: string): Address {
  const address = parseAddress(text);
  if (address === null) throw new Fault('config_invalid', `${JSON.stringify(text)} is not an IP address`);
  return address;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

interface RecordWithTtl {
  readonly address: string;
  readonly ttl: number;
}

const NOT_FOUND_CODES: ReadonlySet<string> = new Set([NOTFOUND, NODATA]);
/** Nobody dials more than a few; an answer of thousands must not become work, or a cache entry. */
const MAX_OF_FAMILY = 32;
/**
 * How long the slower family is waited for. RFC 8305 section 3 asks 50 ms of a client; a gate looks up for many and
 * remembers the answer, so it gives a little more before it leaves one family out.
 */
const SLOW_FAMILY_MS = 200;
