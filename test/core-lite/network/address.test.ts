import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../core-lite/network/address.ts';

describe('the one spelling of an address', () => {
  it.each<[string, 4 | 6, string]>([
    ['192.0.2.1', 4, '192.0.2.1'],
    ['0.0.0.0', 4, '0.0.0.0'],
    ['255.255.255.255', 4, '255.255.255.255'],
    ['::', 6, '::'],
    ['::1', 6, '::1'],
    ['2001:DB8:0:0:1:0:0:1', 6, '2001:db8::1:0:0:1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', 6, '2001:db8::1'],
    ['1:2:3:4:5:6:7::', 6, '1:2:3:4:5:6:7:0'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 6, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    // An address inside another stays inside, and keeps its family.
    ['::ffff:10.0.0.1', 6, '::ffff:a00:1'],
    ['::FFFF:A00:1', 6, '::ffff:a00:1'],
    ['::10.0.0.1', 6, '::a00:1'],
    ['64:ff9b::10.0.0.1', 6, '64:ff9b::a00:1'],
  ])('%s', (text, family, canonical) => {
    const address = parseAddress(text);
    expect(address).toMatchObject({ family, text: canonical });
    expect(address?.bytes).toHaveLength(family === 4 ? 4 : 16);
    expect(parseAddress(canonical)).toEqual(address);
  });

  it('has the bytes in network order', () => {
    expect(parseAddress('192.0.2.1')?.bytes).toEqual([192, 0, 2, 1]);
    expect(parseAddress('2001:db8::a:1')?.bytes).toEqual([
      0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 1,
    ]);
  });

  it.each([
    '',
    'a.test',
    '127.1',
    '2130706433',
    '010.0.0.1',
    '0x7f.0.0.1',
    '256.0.0.1',
    '1.2.3.4.',
    ' 1.2.3.4',
    '1.2.3.4/8',
    '[::1]',
    '::1%lo',
    'fe80::1%25lo',
    '1::2::3',
    ':::',
    '1:2:3:4:5:6:7:8:9',
    '::1.2.3',
    '12345::',
  ])('%j is none', (text) => {
    expect(parseAddress(text)).toBeNull();
  });
});
