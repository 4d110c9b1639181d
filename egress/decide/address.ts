/**
 * Which of the addresses a name resolved to may be dialled: the second decision on a connection. Every address is
 * judged, and only those in `allowed` are dialled, by address. A name with a public and a private address is reached
 * at the public one only.
 */
import type { Address } from '../../core-lite/network/address.ts';
import { classifyAddress, type SpecialClass } from '../../core-lite/network/address-class.ts';
import type { Nat64Prefix } from '../../core-lite/network/nat64.ts';
import { type OpenNetwork, opensAddress } from '../../core-lite/network/open-network.ts';
import type { Target } from '../../core-lite/network/target.ts';

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
  readonly refused: readonly RefusedAddress[];
}

export function decideAddresses({
  target,
  addresses,
  openNetworks,
  nat64Prefixes,
}: AddressFacts): AddressDecision {
  const allowed: Address[] = [];
  const refused: RefusedAddress[] = [];
  for (const address of addresses) {
    const found = classifyAddress(address, nat64Prefixes);
    const opened = () =>
      openNetworks.some((open) => opensAddress(open, target, address, found === 'metadata'));
    if (found === 'public' || opened()) allowed.push(address);
    else refused.push({ address, class: found });
  }
  return { allowed, refused };
}
