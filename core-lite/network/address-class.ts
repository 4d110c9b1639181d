/**
 * What an address is: public, or the name of what else. Everything that is not plainly public is refused by its class,
 * so a block that this file does not know yet must not turn out public: IPv6 is public inside 2000::/3 only, and an
 * address that embeds an IPv4 address is never public, unless an operator names the NAT64 prefix that it lies in.
 */
import type { Address } from './address.ts';
import { embeddedAddress, type Nat64Prefix } from './nat64.ts';
import { type Network, NetworkFault, networkContains, parseNetwork } from './network.ts';
import { GLOBAL_UNICAST, SPECIAL_BLOCKS } from './special-blocks.ts';

export type SpecialClass = (typeof SPECIAL_BLOCKS)[number][1];
export type AddressClass = 'public' | SpecialClass;

/**
 * @param nat64Prefixes those of the operator's own NAT64 (SALLYPORT_NAT64_PREFIXES). An address inside one is judged by
 * the IPv4 address it stands for. The well-known prefix counts only if it is named: without a NAT64 nobody can tell
 * where such an address leads.
 */
export function classifyAddress(address: Address, nat64Prefixes: readonly Nat64Prefix[] = []): AddressClass {
  const inside = nat64Prefixes.filter((prefix) => networkContains(prefix.network, address));
  if (inside.length === 0) return classifyByBlock(address);
  // Where prefixes overlap, nobody knows which one the translator takes: all readings must be public.
  for (const prefix of inside) {
    const embedded = embeddedAddress(prefix, address);
    const found = embedded === null ? 'embedded' : classifyByBlock(embedded);
    if (found !== 'public') return found;
  }
  return 'public';
}

function classifyByBlock(address: Address): AddressClass {
  const block = BLOCKS.find(({ network }) => networkContains(network, address));
  if (block !== undefined) return block.class;
  return address.family === 4 || networkContains(UNICAST, address) ? 'public' : 'reserved';
}

/** A block of our own table: a mistake in it is a bug, found when this file is loaded. */
function knownNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (network instanceof NetworkFault) throw new TypeError(`${text}: ${network.message}`);
  return network;
}

const UNICAST = knownNetwork(GLOBAL_UNICAST);
/** The smallest block first, so that the first that contains an address names it. */
const BLOCKS = SPECIAL_BLOCKS.map(([text, name]) => ({ network: knownNetwork(text), class: name })).sort(
  (left, right) => right.network.bits - left.network.bits,
);
