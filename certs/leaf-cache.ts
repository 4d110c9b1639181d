/**
 * The TLS contexts of the hosts that egress intercepts, one leaf each, bounded, the least recently used
 * dropped first. Also everything else that their TLS server must be given. It never serves a leaf of a CA
 * that was replaced, nor one about to end, and it offers no cipher without authenticated encryption.
 */
import { constants, randomBytes } from 'node:crypto';
import { createSecureContext, type SecureContext, type TlsOptions } from 'node:tls';
import type { Authority } from './authority.ts';
import { issueLeaf, issueListenerLeaf, type Leaf } from './leaf.ts';

export type LeafCacheOptions = {
  /** Contexts kept at once, 1 or more. Default 1024. */
  readonly maxLeaves?: number;
  /** 48 secret bytes, shared by the processes that resume each other's TLS sessions. Default: random. */
  readonly ticketKeys?: Buffer;
};

export class LeafCache {
  readonly #maxLeaves: number;
  readonly #ticketKeys: Buffer;
  #authority: Authority;
  #listenerLeaf: Leaf | null = null;
  /** In the order of use, the least recent first. */
  readonly #entries = new Map<string, Entry>();

  /** Throws an `Error` for an option out of its range. */
  constructor(authority: Authority, options: LeafCacheOptions = {}) {
    const { maxLeaves = 1024, ticketKeys = randomBytes(TICKET_KEY_BYTES) } = options;
    if (!Number.isSafeInteger(maxLeaves) || maxLeaves < 1) throw new Error('maxLeaves is below 1');
    if (ticketKeys.length !== TICKET_KEY_BYTES) throw new Error(`ticketKeys has ${TICKET_KEY_BYTES} bytes`);
    this.#authority = authority;
    this.#maxLeaves = maxLeaves;
    this.#ticketKeys = ticketKeys;
  }

  /**
   * What the TLS server that shows these contexts is created with. The contexts alone do not do: OpenSSL
   * seals and opens tickets with the keys of the server's own context, also when SNI led to another one, and
   * takes the versions from there. A server made without these resumes nothing of another process and may
   * speak an older TLS.
   */
  get serverOptions(): ServerOptions {
    return { ...PROTOCOL, ticketKeys: this.#ticketKeys };
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The context to show for `host`, its leaf issued again on its last day. Throws as `issueLeaf` does. */
  contextFor(host: string, now: Date): SecureContext {
    const known = this.#entries.get(host);
    const entry = known !== undefined && this.#isFresh(known, now.getTime()) ? known : this.#issue(host, now);
    this.#entries.delete(host);
    this.#entries.set(host, entry);
    this.#dropLeastRecent();
    return entry.context;
  }

  /** The leaf of our own listener: the same one until its last day, or until the CA is another. Throws as `issueListenerLeaf`. */
  listenerLeaf(names: readonly string[], now: Date): Leaf {
    const known = this.#listenerLeaf;
    if (known !== null && this.#isFresh(datesOf(known), now.getTime())) return known;
    this.#listenerLeaf = issueListenerLeaf(this.#authority, names, now);
    return this.#listenerLeaf;
  }

  /** Takes another generation of the CA. All leaves of the one before are dropped in the same step. */
  replaceAuthority(authority: Authority): void {
    this.#authority = authority;
    this.clear();
  }

  clear(): void {
    this.#listenerLeaf = null;
    this.#entries.clear();
  }

  #issue(host: string, now: Date): Entry {
    const leaf = issueLeaf(this.#authority, host, now);
    const context = createSecureContext({
      ...this.serverOptions,
      cert: leaf.certificatePem,
      key: leaf.keyPem,
    });
    return { context, ...datesOf(leaf) };
  }

  #isFresh(entry: Dates, nowMs: number): boolean {
    // On the CA's last day no new leaf would live longer than the one at hand.
    const lastsAsLongAsCa = entry.notAfterMs >= this.#authority.notAfter.getTime();
    const neededMs = lastsAsLongAsCa ? 0 : RENEWAL_MS;
    return nowMs >= entry.notBeforeMs && entry.notAfterMs - nowMs > neededMs;
  }

  #dropLeastRecent(): void {
    const [leastRecent] = this.#entries.keys();
    if (this.#entries.size > this.#maxLeaves && leastRecent !== undefined) this.#entries.delete(leastRecent);
  }
}

/** TLS 1.2 and 1.3 with authenticated encryption only; a leaf's key is ECDSA, so RSA suites are left out. */
const PROTOCOL = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ].join(':'),
  // Of TLS 1.2. Node's own `disableRenegotiation` reports an error and renegotiates all the same.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  // Node derives it from the command line by default, so that processes started otherwise would not resume.
  sessionIdContext: 'sallyport-egress',
} as const satisfies TlsOptions;

type ServerOptions = Readonly<typeof PROTOCOL & { ticketKeys: Buffer }>;

type Dates = { readonly notBeforeMs: number; readonly notAfterMs: number };
type Entry = Dates & { readonly context: SecureContext };

function datesOf({ notBefore, notAfter }: Leaf): Dates {
  return { notBeforeMs: notBefore.getTime(), notAfterMs: notAfter.getTime() };
}

const RENEWAL_MS = 24 * 3_600_000;
const TICKET_KEY_BYTES = 48;
