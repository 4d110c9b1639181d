/**
 * The addresses of names, for as long as their zone allows and never for long. It remembers answers only: a failure is
 * asked about again, so that a name that has just been made is found. The least recently read name is dropped first.
 */
import type { Address } from './address.ts';

export class AddressCache {
  readonly #maxNames: number;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(maxNames: number, now: () => number) {
    this.#maxNames = maxNames;
    this.#now = now;
  }

  read(host: string): readonly Address[] | null {
    const entry = this.#entries.get(host);
    if (entry === undefined) return null;
    this.#entries.delete(host);
    if (entry.expiresAt <= this.#now()) return null;
    this.#entries.set(host, entry);
    return entry.addresses;
  }

  /** A TTL of 0 means this once (RFC 1035 section 3.2.1): such an answer is not kept. */
  store(host: string, addresses: readonly Address[], ttlSeconds: number): void {
    this.#entries.delete(host);
    const seconds = Math.min(ttlSeconds, MAX_TTL_SECONDS);
    if (!(seconds > 0)) return;
    this.#entries.set(host, { addresses, expiresAt: this.#now() + seconds * 1000 });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxNames && oldest !== undefined) this.#entries.delete(oldest);
  }
}

interface Entry {
  readonly addresses: readonly Address[];
  readonly expiresAt: number;
}

/**
 * A zone may ask for days; an origin that fails over is found again within this time (the JVM's default,
 * `networkaddress.cache.ttl`). It is no part of the guard: every use of an answer is judged anew.
 */
const MAX_TTL_SECONDS = 30;
