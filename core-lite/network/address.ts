/**
 * An IP address as bytes and as one text. Only the strict spellings are read: four decimal parts, or RFC 4291 without a
 * zone. What an address may be used for is not said here, see `address-class.ts`. An IPv4 address inside an IPv6 one is
 * never unwrapped: an address has the family it came with, so no embedding passes for what it embeds.
 */
import { isIP } from 'node:net';

/** Made by `parseAddress` and `addressOfBytes` only. */
export class Address {
  declare private readonly brand: 'address';
  readonly family: 4 | 6;
  /** The one spelling: dotted, or as RFC 5952 asks but with hex groups only. */
  readonly text: string;
  /** 4 or 16 bytes in network order. */
  readonly bytes: readonly number[];

  constructor(family: 4 | 6, text: string, bytes: readonly number[]) {
    this.family = family;
    this.text = text;
    this.bytes = bytes;
  }
}

/** The address that `text` spells, or null. `127.1`, `010.0.0.1`, brackets and zones are no spellings. */
export function parseAddress(text: string): Address | null {
  const family = isIP(text);
  if (family === 4) return addressOfBytes(text.split('.').map(Number));
  if (family !== 6 || text.includes('%')) return null;
  // The URL parser knows one spelling of an IPv6 address and gives it: lower case, shortest, dotted tail in hex.
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  return new Address(6, canonical, bytesOfGroups(canonical));
}

/** The IPv4 address of four bytes. */
export function addressOfBytes(bytes: readonly number[]): Address {
  return new Address(4, bytes.join('.'), bytes);
}

function bytesOfGroups(text: string): readonly number[] {
  const [head = '', tail] = text.split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
