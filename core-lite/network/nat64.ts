/**
 * The operator's NAT64 prefixes (RFC 6052): in a network that reaches IPv4 hosts only through a translator, every
 * address of such a host lies in one. Without the operator's word an address inside any of them is refused.
 */
import { type Address, addressOfBytes } from './address.ts';
import { formatNetwork, type Network, NetworkFault, networkContains, parseNetwork } from './network.ts';

/** Made by `parseNat64Prefixes` only. */
export class Nat64Prefix {
  declare private readonly brand: 'nat64-prefix';
  /** An IPv6 network of 32, 40, 48, 56, 64 or 96 bits. */
  readonly network: Network;

  constructor(network: Network) {
    this.network = network;
  }
}

/**
 * The prefixes of a list such as `64:ff9b::/96,fd00:64::/96`; an empty text is none. What cannot be read is named in
 * `faults`, one line each.
 */
export function parseNat64Prefixes(text: string): {
  readonly prefixes: readonly Nat64Prefix[];
  readonly faults: readonly string[];
} {
  const entries = text.trim() === '' ? [] : text.split(',').map((entry) => entry.trim());
  const read = entries.map((entry) => parsePrefix(entry));
  return {
    prefixes: read.filter((each) => each instanceof Nat64Prefix),
    faults: read.filter((each) => typeof each === 'string'),
  };
}

/**
 * The IPv4 address that `address` stands for under `prefix`, or null where it is not inside, or is malformed: bits 64
 * to 71 must be zero (RFC 6052 section 2.2). The suffix behind it is not read, as a translator does not read it.
 */
export function embeddedAddress(prefix: Nat64Prefix, address: Address): Address | null {
  if (!networkContains(prefix.network, address)) return null;
  if (address.bytes[RESERVED_BYTE] !== 0) return null;
  const behind = address.bytes.slice(prefix.network.bits / 8);
  const skipped = RESERVED_BYTE - prefix.network.bits / 8;
  // A negative place is the /96, whose IPv4 address lies whole behind the reserved byte.
  const bytes = skipped < 0 ? behind : behind.filter((_, index) => index !== skipped);
  return addressOfBytes(bytes.slice(0, 4));
}

function parsePrefix(entry: string): Nat64Prefix | string {
  const network = parseNetwork(entry);
  if (network instanceof NetworkFault) return `${JSON.stringify(entry)}: ${network.message}`;
  if (network.first.family !== 6 || !LENGTHS.includes(network.bits)) {
    return `${formatNetwork(network)}: a NAT64 prefix is an IPv6 network of ${LENGTHS.join(', ')} bits`;
  }
  if (network.first.bytes[RESERVED_BYTE] !== 0)
    return `${formatNetwork(network)}: its bits 64 to 71 must be zero`;
  return new Nat64Prefix(network);
}

const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];
const RESERVED_BYTE = 8;
