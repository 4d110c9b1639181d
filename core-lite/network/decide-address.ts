/**
 * Which of the addresses a name resolved to may be dialled: the second decision on everything that leaves. Every
 * address is judged, and only those in `allowed` are dialled, by address. A name with a public and a private address
 * is reached at the public one only. It lives here because both gates ask it and neither may import the other.
 */
import type { Address } from './address.ts';
import { classifyAddress, type SpecialClass } from './address-class.ts';
import type { Nat64Prefix } from './nat64.ts';
import { type OpenNetwork, opensAddress } from './open-network.ts';
import type { Target } from './target.ts';

export interface AddressFacts {
  readonly target: Target;
  /** What the name of the target resolved to. */
  readonly addresses: readonly Address[];
  readonly openNetworks: readonly OpenNetwork[];
  readonly nat64Prefixes: readonly Nat64Prefix[];
}

interface RefusedAddress {
  readonly address: Address;
  readonly class: SpecialClass;
}

export interface AddressDecision {
  /** In the order of the answer. When it is empty, the connection is refused as `address_refused`. */
  readonly allowed: readonly Address[];
  /** Those of `allowed` that are not public: an operator opened their network for this host. */
  readonly opened: readonly Address[];
  readonly refused: readonly RefusedAddress[];
}

export function decideAddresses({
  target,
  addresses,
  openNetworks,
  nat64Prefixes,
}: AddressFacts): AddressDecision {
  const allowed: Address[] = [];
  const opened: Address[] = [];
  const refused: RefusedAddress[] = [];
  for (const address of addresses) {
    const found = classifyAddress(address, nat64Prefixes);
    if (found === 'public') {
      allowed.push(address);
    } else if (openNetworks.some((open) => opensAddress(open, target, address, found === 'metadata'))) {
      allowed.push(address);
      opened.push(address);
    } else refused.push({ address, class: found });
  }
  return { allowed, opened, refused };
}
