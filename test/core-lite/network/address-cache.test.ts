import { expect, it } from 'vitest';
import { parseAddress } from '../../../core-lite/network/address.ts';
import { AddressCache } from '../../../core-lite/network/address-cache.ts';

const addresses = ['192.0.2.1'].map(parseAddress).filter((address) => address !== null);

it('makes no room for an answer that is not kept', () => {
  const cache = new AddressCache(1, () => 0);
  cache.store('a.test', addresses, 60);
  cache.store('b.test', addresses, 0);
  cache.store('c.test', addresses, Number.NaN);
  expect(['a.test', 'b.test', 'c.test'].map((host) => cache.read(host))).toEqual([addresses, null, null]);
});

it('forgets what it kept when the name is no longer to be kept', () => {
  const cache = new AddressCache(2, () => 0);
  cache.store('a.test', addresses, 60);
  cache.store('a.test', addresses, 0);
  expect(cache.read('a.test')).toBeNull();
});
