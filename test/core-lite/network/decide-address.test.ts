import { describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../core-lite/network/address.ts';
import { decideAddresses } from '../../../core-lite/network/decide-address.ts';
import { parseNat64Prefixes } from '../../../core-lite/network/nat64.ts';
import { parseOpenNetworks } from '../../../core-lite/network/open-network.ts';
import { SPECIAL_BLOCKS } from '../../../core-lite/network/special-blocks.ts';
import { parseTarget } from '../../../core-lite/network/target.ts';

interface Settings {
  readonly open?: string;
  readonly nat64?: string;
  readonly to?: string;
}

function decide(addresses: readonly string[], { open = '', nat64 = '', to = 'a.test:443' }: Settings = {}) {
  const target = parseTarget(to);
  if (target === null) throw new TypeError(to);
  const { allowed, refused } = decideAddresses({
    target,
    addresses: addresses.map(address),
    openNetworks: parseOpenNetworks(open).networks,
    nat64Prefixes: parseNat64Prefixes(nat64).prefixes,
  });
  return {
    allowed: allowed.map((each) => each.text),
    refused: refused.map((each) => `${each.address.text} ${each.class}`),
  };
}

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === null) throw new TypeError(text);
  return parsed;
}

describe('which addresses may be dialled', () => {
  it.each<
    [name: string, addresses: readonly string[], allowed: readonly string[], refused: readonly string[]]
  >([
    ['none', [], [], []],
    ['public ones, in their order', ['2606:4700::1', '8.8.8.8'], ['2606:4700::1', '8.8.8.8'], []],
    ['a private one', ['10.0.0.1'], [], ['10.0.0.1 private']],
    ['public and private', ['8.8.8.8', '10.0.0.1'], ['8.8.8.8'], ['10.0.0.1 private']],
    ['private and public', ['10.0.0.1', '8.8.8.8'], ['8.8.8.8'], ['10.0.0.1 private']],
    ['loopback by AAAA', ['::1', '8.8.8.8'], ['8.8.8.8'], ['::1 loopback']],
    ['unique local by AAAA', ['fd00::1', '8.8.8.8'], ['8.8.8.8'], ['fd00::1 unique_local']],
    ['mapped by AAAA', ['::ffff:169.254.169.254', '8.8.8.8'], ['8.8.8.8'], ['::ffff:a9fe:a9fe embedded']],
    ['mapped, though public', ['::ffff:8.8.8.8'], [], ['::ffff:808:808 embedded']],
    ['metadata', ['169.254.169.254'], [], ['169.254.169.254 metadata']],
    ['NAT64 that nobody named', ['64:ff9b::8.8.8.8'], [], ['64:ff9b::808:808 embedded']],
  ])('%s', (_, addresses, allowed, refused) => {
    expect(decide(addresses)).toEqual({ allowed, refused });
  });

  it.each<[name: string, settings: Settings, address: string, allowed: boolean]>([
    ['an open network', { open: 'a.test=10.0.0.0/8' }, '10.1.2.3', true],
    ['its last address', { open: 'a.test=10.0.0.0/9' }, '10.127.255.255', true],
    ['behind its edge', { open: 'a.test=10.0.0.0/9' }, '10.128.0.0', false],
    ['of another host', { open: 'b.test=10.0.0.0/8' }, '10.1.2.3', false],
    ['of a suffix', { open: '*.test=10.0.0.0/8' }, '10.1.2.3', true],
    ['of the names below', { open: '*.a.test=10.0.0.0/8' }, '10.1.2.3', false],
    ['of another port', { open: 'a.test:8443=10.0.0.0/8' }, '10.1.2.3', false],
    ['of the port', { open: 'a.test:8443=10.0.0.0/8', to: 'a.test:8443' }, '10.1.2.3', true],
    ['one of two', { open: 'a.test=10.0.0.0/8,a.test=127.0.0.0/8' }, '127.0.0.1', true],
    ['mapped into it', { open: 'a.test=10.0.0.0/8' }, '::ffff:10.1.2.3', false],
    ['metadata inside it', { open: 'a.test=169.254.0.0/16' }, '169.254.169.254', false],
    ['shared, with metadata inside', { open: 'a.test=100.64.0.0/10' }, '100.64.0.1', true],
    ['that metadata', { open: 'a.test=100.64.0.0/10' }, '100.100.100.200', false],
    ['metadata by its own address', { open: 'a.test=169.254.169.254/32' }, '169.254.169.254', true],
    [
      'localhost when the operator opens it',
      { open: 'localhost=127.0.0.0/8', to: 'localhost:443' },
      '127.0.0.1',
      true,
    ],
    ['localhost otherwise', { to: 'localhost:443' }, '127.0.0.1', false],
    ['NAT64 of a public address', { nat64: '64:ff9b::/96' }, '64:ff9b::8.8.8.8', true],
    ['NAT64 of a private one', { nat64: '64:ff9b::/96' }, '64:ff9b::10.0.0.1', false],
    [
      'NAT64 of a private one that is open by itself',
      { nat64: '64:ff9b::/96', open: 'a.test=10.0.0.0/8' },
      '64:ff9b::10.0.0.1',
      false,
    ],
  ])('by settings: %s', (_, settings, text, allowed) => {
    expect(decide([text], settings).allowed).toHaveLength(allowed ? 1 : 0);
  });

  it('none of a special block', () => {
    for (const [block] of SPECIAL_BLOCKS) {
      const [first = ''] = block.split('/');
      expect(decide([first])).toMatchObject({ allowed: [] });
    }
  });
});
