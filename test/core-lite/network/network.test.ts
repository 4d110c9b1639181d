import { describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../core-lite/network/address.ts';
import { formatHostPattern } from '../../../core-lite/network/host-pattern.ts';
import {
  formatNetwork,
  isSingleAddress,
  Network,
  NetworkFault,
  networkContains,
  parseNetwork,
} from '../../../core-lite/network/network.ts';
import { opensAddress, parseOpenNetworks } from '../../../core-lite/network/open-network.ts';
import { parseTarget, type Target } from '../../../core-lite/network/target.ts';

function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (parsed instanceof Network) return parsed;
  throw new TypeError(`${text}: ${parsed.message}`);
}

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === null) throw new TypeError(text);
  return parsed;
}

function target(text: string): Target {
  const parsed = parseTarget(text);
  if (parsed === null) throw new TypeError(text);
  return parsed;
}

describe('a network', () => {
  it.each<[string, string, boolean]>([
    ['10.0.0.0/8', '10.0.0.0', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '9.255.255.255', false],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['172.16.0.0/12', '172.31.255.255', true],
    ['172.16.0.0/12', '172.32.0.0', false],
    ['192.0.2.7/32', '192.0.2.7', true],
    ['192.0.2.7/32', '192.0.2.6', false],
    ['0.0.0.0/0', '255.1.2.3', true],
    ['fc00::/7', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
    ['fc00::/7', 'fe00::', false],
    ['2001:db8::1/128', '2001:db8::1', true],
    ['2001:db8::1/128', '2001:db8::2', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', false],
    ['::ffff:a00:0/104', '10.0.0.1', false],
    ['::/0', '10.0.0.1', false],
  ])('%s over %s: %s', (text, inside, contained) => {
    expect(networkContains(network(text), address(inside))).toBe(contained);
  });

  it('is written as it is read', () => {
    for (const text of ['10.0.0.0/8', '0.0.0.0/0', 'fd00::/8', '::1/128'])
      expect(formatNetwork(network(text))).toBe(text);
    expect(isSingleAddress(network('::1/128')) && isSingleAddress(network('10.0.0.1/32'))).toBe(true);
    expect(isSingleAddress(network('::/32')) || isSingleAddress(network('10.0.0.0/31'))).toBe(false);
  });

  it.each<[string, RegExp]>([
    ['', /block/],
    ['10.0.0.0', /10\.0\.0\.0\/32/],
    ['fd00::1', /fd00::1\/128/],
    ['10.0.0.1/8', /bits set/],
    ['fd00::1/64', /bits set/],
    ['10.0.0.0/33', /0 to 32/],
    ['fd00::/129', /0 to 128/],
    ['10.0.0.0/08', /0 to 32/],
    ['10.0.0.0/', /0 to 32/],
    ['10.0.0.0/-1', /0 to 32/],
    ['10.0.0.0/8/8', /block/],
    ['10/8', /block/],
    ['10.0.0.0/255.0.0.0', /0 to 32/],
    ['a.test/8', /block/],
  ])('%j is a fault', (text, message) => {
    const fault = parseNetwork(text);
    expect(fault).toBeInstanceOf(NetworkFault);
    expect(fault).toMatchObject({ message: expect.stringMatching(message) });
  });
});

describe('open networks', () => {
  it('are a list of host and network', () => {
    const { networks, faults } = parseOpenNetworks(
      ' a.test=10.0.0.0/8, *.b.test:8443=fd00::/8,a.test=127.0.0.1/32 ',
    );
    const shown = networks.map((open) => `${formatHostPattern(open.pattern)}=${formatNetwork(open.network)}`);
    expect(shown).toEqual(['a.test=10.0.0.0/8', '*.b.test:8443=fd00::/8', 'a.test=127.0.0.1/32']);
    expect(faults).toEqual([]);
    expect(parseOpenNetworks('')).toEqual({ networks: [], faults: [] });
  });

  it.each<[string, RegExp]>([
    ['10.0.0.0/8', /host=network/],
    ['a.test=10.0.0.0/8=x', /host=network/],
    ['a.test=10.0.0.0/8,', /host=network/],
    ['=10.0.0.0/8', /empty/],
    ['*=10.0.0.0/8', /bare \*/],
    ['A.test=10.0.0.0/8', /\(a\.test\?\)/],
    ['a.test=10.0.0.1/8', /bits set/],
    ['a.test=0.0.0.0/0', /every address/],
    ['a.test=::/0', /every address/],
  ])('%j has a fault', (text, message) => {
    expect(parseOpenNetworks(text).faults).toEqual([expect.stringMatching(message)]);
  });

  it('names every fault and keeps what can be read', () => {
    const { networks, faults } = parseOpenNetworks('x,a.test=10.0.0.0/8,y');
    expect([networks.length, faults.length]).toEqual([1, 2]);
  });

  it.each<[entry: string, to: string, at: string, metadata: boolean, opened: boolean]>([
    ['a.test=10.0.0.0/8', 'a.test:443', '10.1.2.3', false, true],
    ['a.test=10.0.0.0/8', 'a.test:5432', '10.1.2.3', false, true],
    ['a.test=10.0.0.0/8', 'b.test:443', '10.1.2.3', false, false],
    ['a.test=10.0.0.0/8', 'a.test:443', '11.1.2.3', false, false],
    ['a.test=10.0.0.0/8', 'a.test:443', '::ffff:10.1.2.3', false, false],
    ['*.a.test=10.0.0.0/8', 'x.a.test:443', '10.1.2.3', false, true],
    ['*.a.test=10.0.0.0/8', 'a.test:443', '10.1.2.3', false, false],
    ['a.test:8443=10.0.0.0/8', 'a.test:8443', '10.1.2.3', false, true],
    ['a.test:8443=10.0.0.0/8', 'a.test:443', '10.1.2.3', false, false],
    ['a.test=169.254.0.0/16', 'a.test:80', '169.254.169.254', true, false],
    ['a.test=169.254.169.254/32', 'a.test:80', '169.254.169.254', true, true],
    ['a.test=fd00:ec2::254/128', 'a.test:80', 'fd00:ec2::254', true, true],
  ])('%s for %s at %s, metadata %s: %s', (entry, to, at, metadata, opened) => {
    const [open] = parseOpenNetworks(entry).networks;
    expect(open && opensAddress(open, target(to), address(at), metadata)).toBe(opened);
  });
});
