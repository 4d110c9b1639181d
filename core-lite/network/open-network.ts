/**
 * Networks that the operator opens for a host (SALLYPORT_OPEN_NETWORKS): the one way to reach an address that is not
 * public. An entry opens a network for the hosts of its pattern only; nothing that an environment says can add one.
 */
import type { Address } from './address.ts';
import {
  formatHostPattern,
  type HostPattern,
  HostPatternFault,
  matchesHost,
  parseHostPattern,
} from './host-pattern.ts';
import { isSingleAddress, type Network, NetworkFault, networkContains, parseNetwork } from './network.ts';
import type { Target } from './target.ts';

export interface OpenNetwork {
  /** Without a port it stands for every port: which ports a host is reached at is the allowlist's to say. */
  readonly pattern: HostPattern;
  readonly network: Network;
}

/**
 * The entries of `host=cidr,*.x=cidr`; an empty text has none. What cannot be read is named in `faults`, one line
 * each. A network of length 0 is a fault: it would open everything, metadata endpoints included.
 */
export function parseOpenNetworks(text: string): {
  readonly networks: readonly OpenNetwork[];
  readonly faults: readonly string[];
} {
  const entries = text.trim() === '' ? [] : text.split(',').map((entry) => entry.trim());
  const read = entries.map((entry) => parseEntry(entry));
  return {
    networks: read.filter((each) => typeof each !== 'string'),
    faults: read.filter((each) => typeof each === 'string'),
  };
}

/**
 * Whether `open` lets `target` reach `address`, which is not public.
 * @param metadata whether the address is a cloud's metadata endpoint. Those hand out credentials and lie inside blocks
 * that operators do open (100.64.0.0/10, fd00::/8), so only an entry for that one address (/32, /128) opens one.
 */
export function opensAddress(
  open: OpenNetwork,
  target: Target,
  address: Address,
  metadata: boolean,
): boolean {
  const { pattern, network } = open;
  if (!matchesHost(pattern, target.host) || (pattern.port ?? target.port) !== target.port) return false;
  return networkContains(network, address) && (!metadata || isSingleAddress(network));
}

function parseEntry(entry: string): OpenNetwork | string {
  const shown = JSON.stringify(entry);
  const [host = '', cidr, ...rest] = entry.split('=');
  if (cidr === undefined || rest.length > 0)
    return `${shown}: an entry is host=network, as in a.example=10.0.0.0/8`;
  const pattern = parseHostPattern(host);
  if (pattern instanceof HostPatternFault) {
    const hint = pattern.suggestion === null ? '' : ` (${pattern.suggestion}?)`;
    return `${shown}: the host is no pattern: ${pattern.message}${hint}`;
  }
  const network = parseNetwork(cidr);
  if (network instanceof NetworkFault) return `${shown}: the network is none: ${network.message}`;
  if (network.bits === 0)
    return `${shown}: it would open every address to ${formatHostPattern(pattern)}; name its network`;
  return { pattern, network };
}
