/** Merged names: told apart, short, and the same whatever the order. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findNamed } from '../../../../gates/mcp/merge/directory.ts';
import { type Named, nameMerged, prefixed } from '../../../../gates/mcp/merge/names.ts';

const of = (...items: readonly string[]): Named[] =>
  items.map((item) => {
    const [server = '', name = ''] = item.split(':');
    return { server, name };
  });
const SERVERS = ['a', 'a_b', 'b', 'a-long-server-name-of-thirty-two'];

it.each([
  [
    ['a:read', 'b:write'],
    ['read', 'write'],
  ],
  [
    ['a:read', 'b:read', 'b:write'],
    ['a_read', 'b_read', 'write'],
  ],
  // One that looks like another server’s is put behind its own.
  [
    ['a:read', 'b:a_read'],
    ['read', 'b_a_read'],
  ],
  [
    ['a:read', 'b:read', 'b:a_read'],
    ['a_read', 'b_read', 'b_a_read'],
  ],
  [
    ['a:a_x', 'a:x', 'b:x'],
    ['a_x', expect.stringMatching(/^a_x_[0-9a-f]{10}$/), 'b_x'],
  ],
  [
    ['a:b_c', 'a_b:c', 'b:c', 'b:b_c'],
    [
      expect.stringMatching(/^a_b_c_[0-9a-f]{10}$/),
      expect.stringMatching(/^a_b_c_[0-9a-f]{10}$/),
      'b_c',
      'b_b_c',
    ],
  ],
  [[`a:${'x'.repeat(64)}`], ['x'.repeat(64)]],
  [[`a:${'x'.repeat(65)}`], [expect.stringMatching(/^a_x{51}_[0-9a-f]{10}$/)]],
])('%j are %j', (items, names) => {
  expect(nameMerged(of(...items), SERVERS)).toEqual(names);
});

describe('whatever there is', () => {
  const name = fc.oneof(
    fc.constantFrom('x', 'a_x', 'b_x', 'b_c', 'a_b_c', 'c', 'x'.repeat(64), 'x'.repeat(70), 'b_x'.repeat(22)),
    fc.string({ minLength: 1, maxLength: 80 }),
  );
  const items = fc.uniqueArray(fc.record({ server: fc.constantFrom(...SERVERS), name }), {
    selector: ({ server, name: each }) => `${server} ${each}`,
    maxLength: 40,
  });

  it('names are told apart, short, and found again', () => {
    fc.assert(
      fc.property(items, (all) => {
        const names = nameMerged(all, SERVERS);
        expect(new Set(names).size).toBe(all.length);
        expect(Math.max(0, ...names.map(({ length }) => length))).toBeLessThanOrEqual(64);
        for (const [i, each] of names.entries()) expect(findNamed(each, all, [], SERVERS)).toEqual(all[i]);
      }),
    );
  });

  it('the order changes nothing', () => {
    fc.assert(
      fc.property(items, (all) => {
        const forth = nameMerged(all, SERVERS);
        expect(nameMerged(all.toReversed(), SERVERS.toReversed()).toReversed()).toEqual(forth);
      }),
    );
  });
});

it('a name behind its server’s means the same while the other one is gone', () => {
  const [read] = of('a:read');
  expect(findNamed('a_read', of('a:read'), [], ['a', 'b'])).toEqual(read);
  expect(findNamed('a_read', of('a:read'), of('b:read'), ['a', 'b'])).toEqual(read);
});

it('a name that two could mean is nobody’s', () => {
  expect(findNamed('read', of('a:read', 'b:read'), [], ['a', 'b'])).toEqual(['a_read', 'b_read']);
  expect(prefixed({ server: 'a', name: 'read' })).toBe('a_read');
});
