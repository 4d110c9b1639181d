/**
 * A block of addresses in CIDR notation. A block with host bits set is a fault that offers the right spelling, since
 * nobody can tell whether the address or the length was the mistake.
 */
import { type Address, parseAddress } from './address.ts';

/** Made by `parseNetwork` only. */
export class Network {
  declare private readonly brand: 'network';
  /** The first address of the block. */
  readonly first: Address;
  /** How many leading bits are fixed: 0 to 32 or 128. */
  readonly bits: number;

  constructor(first: Address, bits: number) {
    this.first = first;
    this.bits = bits;
  }
}

/** Why a text is no block: a value, to be shown to whoever wrote it. */
export class NetworkFault {
  declare private readonly brand: 'network-fault';
  /** One line without a full stop. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** `10.0.0.0/8`, `fd00::/8`, one address as `10.0.0.1/32`. */
export function parseNetwork(text: string): Network | NetworkFault {
  const [address = '', length, ...rest] = text.split('/');
  const first = parseAddress(address);
  if (first === null || rest.length > 0)
    return new NetworkFault('it is not an address block such as 10.0.0.0/8');
  const width = first.bytes.length * 8;
  if (length === undefined)
    return new NetworkFault(`it has no length: one address is ${first.text}/${width}`);
  const bits = Number(length);
  if (!LENGTH.test(length) || bits > width)
    return new NetworkFault(`its length is not a number from 0 to ${width}`);
  const network = new Network(first, bits);
  if (!first.bytes.every((byte, index) => (byte & ~maskByte(bits, index) & 0xff) === 0)) {
    return new NetworkFault(`its address has bits set behind the first ${bits}`);
  }
  return network;
}

/** Whether `address` lies in `network`. A network of one family never contains an address of the other. */
export function networkContains(network: Network, address: Address): boolean {
  if (network.first.family !== address.family) return false;
  for (let index = 0; index * 8 < network.bits; index += 1) {
    const differing = (network.first.bytes[index] ?? 0) ^ (address.bytes[index] ?? 0);
    if ((differing & maskByte(network.bits, index)) !== 0) return false;
  }
  return true;
}

/** Whether the network is one address. */
export function isSingleAddress(network: Network): boolean {
  return network.bits === network.first.bytes.length * 8;
}

export function formatNetwork(network: Network): string {
  return `${network.first.text}/${network.bits}`;
}

/** The byte `index` of a mask of `bits` leading ones. */
function maskByte(bits: number, index: number): number {
  const ones = Math.min(Math.max(bits - index * 8, 0), 8);
  return (0xff << (8 - ones)) & 0xff;
}

const LENGTH = /^(?:0|[1-9][0-9]{0,2})$/;
