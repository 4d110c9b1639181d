import { describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../core-lite/network/address.ts';
import { classifyAddress } from '../../../core-lite/network/address-class.ts';
import { embeddedAddress, parseNat64Prefixes } from '../../../core-lite/network/nat64.ts';
import { Network, networkContains, parseNetwork } from '../../../core-lite/network/network.ts';
import { GLOBAL_UNICAST, SPECIAL_BLOCKS } from '../../../core-lite/network/special-blocks.ts';
import { Random } from '../../support/random.ts';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === null) throw new TypeError(text);
  return parsed;
}

function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (parsed instanceof Network) return parsed;
  throw new TypeError(`${text}: ${parsed.message}`);
}

const prefixes = (text: string) => parseNat64Prefixes(text).prefixes;
const classOf = (text: string, nat64 = '') => classifyAddress(address(text), prefixes(nat64));

describe('the class of an address', () => {
  it.each<[string, string]>([
    ['8.8.8.8', 'public'],
    ['1.1.1.1', 'public'],
    ['2606:4700::1111', 'public'],
    ['2a00:1450:4001::1', 'public'],
    ['2001:4860::8888', 'public'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'this_network'],
    ['10.0.0.1', 'private'],
    ['10.255.255.255', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.254', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'shared'],
    ['100.127.255.254', 'shared'],
    ['100.100.100.200', 'metadata'],
    ['127.0.0.1', 'loopback'],
    ['127.99.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.0.1', 'link_local'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['192.0.0.1', 'ietf'],
    ['192.0.0.192', 'metadata'],
    ['192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['192.88.99.1', 'anycast'],
    ['198.18.0.1', 'benchmark'],
    ['198.19.255.254', 'benchmark'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fc00::1', 'unique_local'],
    ['fd00:ec2::254', 'metadata'],
    ['fe80::1', 'link_local'],
    ['fec0::1', 'site_local'],
    ['ff02::1', 'multicast'],
    ['100::1', 'discard'],
    ['2001:20::1', 'ietf'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['5f00::1', 'segment_routing'],
    ['4000::1', 'reserved'],
    ['1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['fe00::1', 'reserved'],
    // What is inside another address, whatever it is.
    ['::ffff:10.0.0.1', 'embedded'],
    ['::ffff:169.254.169.254', 'embedded'],
    ['::ffff:127.0.0.1', 'embedded'],
    ['::ffff:8.8.8.8', 'embedded'],
    ['::10.0.0.1', 'embedded'],
    ['::8.8.8.8', 'embedded'],
    ['::ffff:0:10.0.0.1', 'embedded'],
    ['64:ff9b::10.0.0.1', 'embedded'],
    ['64:ff9b::169.254.169.254', 'embedded'],
    ['64:ff9b::8.8.8.8', 'embedded'],
    ['64:ff9b:1::a00:1', 'embedded'],
    ['2002:a00:1::1', 'embedded'],
    ['2002:a9fe:a9fe::1', 'embedded'],
    ['2002:808:808::1', 'embedded'],
    ['2001:0:4136:e378:8000:63bf:f5ff:fffe', 'embedded'],
  ])('%s is %s', (text, expected) => {
    expect(classOf(text)).toBe(expected);
  });
});

describe('the edges of every block', () => {
  it.each(SPECIAL_BLOCKS.map(([block, name]): [string, string] => [block, name]))(
    '%s (%s)',
    (block, name) => {
      const whole = network(block);
      for (const edge of [whole.first, lastOf(whole)]) expect(classifyAddress(edge)).not.toBe('public');
      // The block itself names what no smaller block inside it does.
      const named = smallestBlocksAt(whole.first);
      expect(classifyAddress(whole.first)).toBe(named[0]?.[1]);
      expect(named.map(([, each]) => each)).toContain(name);
      for (const outside of [step(whole.first, -1), step(lastOf(whole), 1)]) {
        if (outside === null || smallestBlocksAt(outside).length > 0) continue;
        const unicast = outside.family === 4 || networkContains(network(GLOBAL_UNICAST), outside);
        expect([outside.text, classifyAddress(outside)]).toEqual([
          outside.text,
          unicast ? 'public' : 'reserved',
        ]);
      }
    },
  );

  it('are those of the table: each block once, with a source', () => {
    expect(new Set(SPECIAL_BLOCKS.map(([block]) => block)).size).toBe(SPECIAL_BLOCKS.length);
    for (const [, , source] of SPECIAL_BLOCKS) expect(source).toMatch(/^(RFC \d+|[A-Z][\w ,]+:)/);
  });
});

describe('any address', () => {
  it('inside a block is refused', () => {
    const random = new Random(1);
    for (const [block] of SPECIAL_BLOCKS) {
      for (let round = 0; round < 200; round += 1) {
        const inside = randomInside(network(block), random);
        expect([inside.text, classifyAddress(inside)]).not.toEqual([inside.text, 'public']);
      }
    }
  });

  it.each(['0.0.0.0/0', '2000::/3'])('of %s outside the blocks is public', (whole) => {
    const random = new Random(2);
    const blocks = SPECIAL_BLOCKS.map(([block]) => network(block));
    for (let round = 0; round < 5000; round += 1) {
      const any = randomInside(network(whole), random);
      const listed = blocks.some((block) => networkContains(block, any));
      expect([any.text, classifyAddress(any) === 'public']).toEqual([any.text, !listed]);
    }
  });

  it('outside 2000::/3 is refused', () => {
    const random = new Random(3);
    for (let round = 0; round < 5000; round += 1) {
      const any = randomInside(network('::/0'), random);
      if (!networkContains(network(GLOBAL_UNICAST), any)) expect(classifyAddress(any)).not.toBe('public');
    }
  });

  it('that embeds an IPv4 address in a known way is refused, unless its NAT64 is named', () => {
    const random = new Random(4);
    for (let round = 0; round < 1000; round += 1) {
      const inner = randomInside(network('0.0.0.0/0'), random);
      const [a, b] = groupsOf(inner);
      for (const text of [
        `::ffff:${a}:${b}`,
        `::ffff:0:${a}:${b}`,
        `64:ff9b::${a}:${b}`,
        `2002:${a}:${b}::1`,
      ]) {
        expect([text, classOf(text)]).toEqual([text, 'embedded']);
      }
      expect([inner.text, classOf(`64:ff9b::${a}:${b}`, '64:ff9b::/96')]).toEqual([
        inner.text,
        classifyAddress(inner),
      ]);
    }
  });
});

describe('NAT64 prefixes', () => {
  // RFC 6052 section 2.4, where 192.0.2.33 is written under each length.
  it.each<[string, string]>([
    ['2001:db8::/32', '2001:db8:c000:221::'],
    ['2001:db8:100::/40', '2001:db8:1c0:2:21::'],
    ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::'],
    ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::'],
    ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100::'],
    ['2001:db8:122:344::/96', '2001:db8:122:344::192.0.2.33'],
    ['64:ff9b::/96', '64:ff9b::192.0.2.33'],
  ])('%s holds it in %s', (prefix, text) => {
    const [read] = prefixes(prefix);
    expect(read && embeddedAddress(read, address(text))?.text).toBe('192.0.2.33');
  });

  it.each<[nat64: string, text: string, expected: string]>([
    ['64:ff9b::/96', '64:ff9b::8.8.8.8', 'public'],
    ['64:ff9b::/96', '64:ff9b::10.0.0.1', 'private'],
    ['64:ff9b::/96', '64:ff9b::169.254.169.254', 'metadata'],
    ['64:ff9b::/96', '64:ff9b:1::808:808', 'embedded'],
    ['64:ff9b::/96', '2606:4700::1111', 'public'],
    ['fd00:64::/96', 'fd00:64::8.8.8.8', 'public'],
    ['fd00:64::/96', 'fd00:65::8.8.8.8', 'unique_local'],
    ['2a00:1::/96', '2a00:1::127.0.0.1', 'loopback'],
    ['64:ff9b::/96,fd00:64::/96', 'fd00:64::8.8.8.8', 'public'],
    // Bits 64 to 71 set: no address of this form.
    ['64:ff9b:1::/48', '64:ff9b:1:808:108:800::', 'embedded'],
    ['64:ff9b:1::/48', '64:ff9b:1:808:8:800::', 'public'],
    // Two readings of one address: both must be public.
    ['64:ff9b:1::/48,64:ff9b:1:808:8:800::/96', '64:ff9b:1:808:8:800:a00:1', 'private'],
  ])('%s: %s is %s', (nat64, text, expected) => {
    expect(classOf(text, nat64)).toBe(expected);
  });

  it.each<[string, RegExp]>([
    ['64:ff9b::/95', /bits/],
    ['64:ff9b::/97', /96 bits/],
    ['10.0.0.0/8', /IPv6/],
    ['10.0.0.0/32', /IPv6/],
    ['64:ff9b::1/96', /bits set/],
    ['64:ff9b::', /length/],
    ['2001:db8:0:0:100::/96', /64 to 71/],
    ['x', /block/],
    ['64:ff9b::/96,', /block/],
  ])('%j has a fault', (text, message) => {
    expect(parseNat64Prefixes(text).faults).toEqual([expect.stringMatching(message)]);
  });

  it('are none in an empty text', () => {
    expect(parseNat64Prefixes(' ')).toEqual({ prefixes: [], faults: [] });
  });
});

/** The rows that contain `inside`, the smallest block first. */
function smallestBlocksAt(inside: Address) {
  return SPECIAL_BLOCKS.filter(([block]) => networkContains(network(block), inside)).sort(
    ([left], [right]) => network(right).bits - network(left).bits,
  );
}

function fromBytes(bytes: readonly number[]): Address {
  if (bytes.length === 4) return address(bytes.join('.'));
  const groups = Array.from(
    { length: 8 },
    (_, index) => (bytes[index * 2] ?? 0) * 256 + (bytes[index * 2 + 1] ?? 0),
  );
  return address(groups.map((group) => group.toString(16)).join(':'));
}

function groupsOf(inner: Address): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = inner.bytes;
  return [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
}

/** `whole` with every bit behind its prefix taken from `bit`. */
function fill(whole: Network, bit: () => number): Address {
  const bytes = whole.first.bytes.map((byte, index) => {
    let filled = byte;
    for (let place = 0; place < 8; place += 1) {
      if (index * 8 + place >= whole.bits && bit() === 1) filled |= 0x80 >> place;
    }
    return filled;
  });
  return fromBytes(bytes);
}

const lastOf = (whole: Network) => fill(whole, () => 1);
const randomInside = (whole: Network, random: Random) => fill(whole, () => random.below(2));

/** The neighbour of an address, or null behind either end. */
function step(from: Address, by: 1 | -1): Address | null {
  const value = from.bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) + BigInt(by);
  if (value < 0n || value >= 256n ** BigInt(from.bytes.length)) return null;
  return fromBytes(
    from.bytes.map((_, index) => Number((value >> BigInt((from.bytes.length - 1 - index) * 8)) & 255n)),
  );
}
