/**
 * The way to providers and tools: resolve, decide on the addresses, and a pool whose connections go to those addresses
 * only. Pools are keyed by scheme, host, port, addresses and the credential's version, so a connection is never shared
 * between secrets and never outlives the decision on its address. Redirects are never followed.
 */
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { Pool } from 'undici';
import type { Allow } from '../../core-lite/decision.ts';
import { type Address, parseAddress } from '../../core-lite/network/address.ts';
import { decideAddresses } from '../../core-lite/network/decide-address.ts';
import type { Nat64Prefix } from '../../core-lite/network/nat64.ts';
import type { OpenNetwork } from '../../core-lite/network/open-network.ts';
import { ResolveFailure, type Resolver } from '../../core-lite/network/resolve.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';

export interface UpstreamsOptions {
  readonly resolver: Resolver;
  readonly openNetworks: readonly OpenNetwork[];
  readonly nat64Prefixes: readonly Nat64Prefix[];
  /** PEM certificates that upstreams' certificates may lead to besides the public roots. */
  readonly extraRoots: readonly string[];
}

/** Why no connection may be made. */
export type Unreachable = 'resolve_failed' | 'address_refused' | 'plaintext_refused';

export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #trust: SecureContext;
  readonly #pools = new Map<string, Pool>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    // One context for all: parsing the public roots costs some 40 ms.
    this.#trust = createSecureContext({
      ca: [...rootCertificates, ...options.extraRoots],
      minVersion: 'TLSv1.2',
    });
  }

  /**
   * @param _proof that the call was allowed; without it no name is looked up
   * @param signal its reason is what this rejects with when it is aborted first
   */
  async reach(
    _proof: Allow<string>,
    url: UpstreamUrl,
    credential: Pick<GateCredential, 'id' | 'version'> | null,
    signal: AbortSignal,
  ): Promise<Pool | Unreachable> {
    const { target, scheme } = url;
    const addresses = await this.#resolve(target.host, signal);
    if (!addresses) return 'resolve_failed';
    const { openNetworks, nat64Prefixes } = this.#options;
    const { allowed, opened } = decideAddresses({ target, addresses, openNetworks, nat64Prefixes });
    if (allowed.length === 0) return 'address_refused';
    // What goes in the clear stays in a network that the operator knows.
    const dialled = scheme === 'https' ? allowed : opened;
    if (dialled.length === 0) return 'plaintext_refused';
    return this.#pool(url, dialled, credential ? `${credential.id}@${credential.version}` : '-');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  async #resolve(host: string, signal: AbortSignal): Promise<readonly Address[] | null> {
    // RFC 6761 6.3: this name is never asked for. Its addresses are judged like any other.
    if (host === 'localhost') return LOOPBACK;
    try {
      return await this.#options.resolver.resolve(host, signal);
    } catch (error) {
      if (error instanceof ResolveFailure) return null;
      throw error;
    }
  }

  #pool({ scheme, target }: UpstreamUrl, addresses: readonly Address[], version: string): Pool {
    const texts = addresses.map((address) => address.text);
    const key = [scheme, target.host, target.port, version, ...texts.toSorted()].join(' ');
    const found = this.#pools.get(key);
    if (found) {
      // The least recently used goes first.
      this.#pools.delete(key);
      this.#pools.set(key, found);
      return found;
    }
    const pool = new Pool(`${scheme}://${target.host}:${target.port}`, {
      ...POOL_OPTIONS,
      connect: { ...CONNECT_OPTIONS, secureContext: this.#trust, lookup: pinnedLookup(addresses) },
    });
    this.#pools.set(key, pool);
    this.#shrink();
    return pool;
  }

  #shrink(): void {
    const [oldest] = this.#pools;
    if (this.#pools.size <= MAX_POOLS || !oldest) return;
    this.#pools.delete(oldest[0]);
    // Ends what is idle now and the rest as its calls end.
    void oldest[1].close().catch(() => {});
  }
}

type Lookup = (
  hostname: string,
  options: { readonly all?: boolean | undefined },
  done: (error: Error | null, found: string | { address: string; family: number }[], family?: number) => void,
) => void;

/** Names are never looked up again: what was allowed is what is dialled. */
function pinnedLookup(addresses: readonly Address[]): Lookup {
  const found = addresses.map(({ text, family }) => ({ address: text, family }));
  return (_hostname, { all }, done) => {
    const [first] = found;
    if (all || !first) done(null, found);
    else done(null, first.address, first.family);
  };
}

const LOOPBACK: readonly Address[] = ['127.0.0.1', '::1'].flatMap((text) => parseAddress(text) ?? []);
/**
 * Whether a provider that hangs up on a used connection before it answers has executed the request, nobody can know: such
 * a call fails and is never sent again from here. So no connection is used when its provider may be about to hang up: the
 * shortest that servers keep one by default is 5 s (Node, uvicorn), and where a provider says for how long (`Keep-Alive:
 * timeout`) it is 2 s less. What has hung up by then is seen before a request is written.
 */
const KEPT_CONNECTIONS = {
  keepAliveTimeout: 4_000,
  keepAliveTimeoutThreshold: 2_000,
  keepAliveMaxTimeout: 60_000,
};
/** Calls have limits of their own: a provider that thinks for minutes is no failure. */
const POOL_OPTIONS = {
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
  maxHeaderSize: 64 * 1024,
  ...KEPT_CONNECTIONS,
};
/** The design's figure for the whole dial. RFC 8305 section 8: the delay between families. */
const CONNECT_OPTIONS = {
  timeout: 10_000,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: 250,
  noDelay: true,
};
const MAX_POOLS = 500;
