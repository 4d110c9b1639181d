/** The smallest allowlist over what was seen: tables, and properties over whatever may be seen. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { learnEntries, type Seen } from '../../cli/learn/allowlist.ts';
import { isShared } from '../../cli/learn/shared-suffixes.ts';
import { matchesTarget } from '../../core-lite/network/host-pattern.ts';
import { parseHostPatterns } from '../../core-lite/network/policy.ts';

const seen = (target: string, count = 1, at = '2026-01-01T00:00:00.000Z'): Seen => {
  const [host = '', port = '443'] = target.split(':');
  return { host, port: Number(port), count, firstAt: at, lastAt: at };
};
const patterns = (targets: readonly string[], siblings?: number): string[] =>
  learnEntries(
    targets.map((target) => seen(target)),
    siblings,
  ).map(({ pattern }) => pattern);

describe('the list', () => {
  it.each<[name: string, targets: string[], siblings: number | undefined, list: string[]]>([
    ['of nothing', [], undefined, []],
    ['names both ports of the web by the host alone', ['a.test:443', 'a.test:80'], undefined, ['a.test']],
    ['names any other port', ['a.test', 'a.test:8443'], undefined, ['a.test', 'a.test:8443']],
    ['has no *. that was not asked for', ['a.x.test', 'b.x.test'], undefined, ['a.x.test', 'b.x.test']],
    ['has one over enough siblings', ['a.x.test', 'b.x.test'], 2, ['*.x.test']],
    ['has none over too few', ['a.x.test', 'b.x.test'], 3, ['a.x.test', 'b.x.test']],
    ['has none over one host at two ports', ['a.x.test', 'a.x.test:80'], 2, ['a.x.test']],
    ['keeps the name itself beside it', ['x.test', 'a.x.test', 'b.x.test'], 2, ['*.x.test', 'x.test']],
    ['covers what is deeper too', ['a.x.test', 'b.x.test', 'd.c.x.test'], 2, ['*.x.test']],
    ['keeps other ports beside it', ['a.x.test', 'b.x.test', 'a.x.test:22'], 2, ['*.x.test', 'a.x.test:22']],
    ['has none over a top level', ['a.test', 'b.test', 'c.test'], 2, ['a.test', 'b.test', 'c.test']],
    ['has none over a registry', ['a.co.uk', 'b.co.uk'], 2, ['a.co.uk', 'b.co.uk']],
    ['has one under a registry', ['a.x.co.uk', 'b.x.co.uk'], 2, ['*.x.co.uk']],
    [
      'has none where strangers are',
      ['a.s3.amazonaws.com', 'b.s3.amazonaws.com'],
      2,
      ['a.s3.amazonaws.com', 'b.s3.amazonaws.com'],
    ],
    ['has no address', ['10.0.0.1', '11.0.0.1', '[::1]:443'], 2, []],
    ['has names of one label', ['intranet'], 2, ['intranet']],
  ])('%s', (_name, targets, siblings, list) => {
    expect(patterns(targets, siblings)).toEqual(list);
  });

  it('has the most used first, with what each covers', () => {
    const entries = learnEntries(
      [
        seen('b.test', 1, '2026-01-03T00:00:00.000Z'),
        seen('a.x.test', 2, '2026-01-02T00:00:00.000Z'),
        seen('b.x.test', 3, '2026-01-01T00:00:00.000Z'),
      ],
      2,
    );
    expect(entries).toEqual([
      {
        pattern: '*.x.test',
        count: 5,
        hosts: 2,
        firstAt: '2026-01-01T00:00:00.000Z',
        lastAt: '2026-01-02T00:00:00.000Z',
      },
      {
        pattern: 'b.test',
        count: 1,
        hosts: 1,
        firstAt: '2026-01-03T00:00:00.000Z',
        lastAt: '2026-01-03T00:00:00.000Z',
      },
    ]);
  });

  const label = fc.constantFrom('a', 'b', 'c', 'x-1');
  const host = fc
    .tuple(
      fc.array(label, { maxLength: 3 }),
      fc.constantFrom('one.test', 'two.example', 'co.uk', 'github.io', 'net'),
    )
    .map(([labels, suffix]) => [...labels, suffix].join('.'));
  const target = fc.tuple(host, fc.constantFrom(443, 80, 22)).map(([name, port]) => `${name}:${port}`);

  it('covers all that was seen, has no entry to spare, and none over strangers', () => {
    fc.assert(
      fc.property(
        fc.array(target, { maxLength: 30 }),
        fc.integer({ min: 2, max: 4 }),
        (targets, siblings) => {
          const texts = patterns(targets, siblings);
          const list = parseHostPatterns(texts);
          const covers = (some: typeof list, text: string): boolean =>
            some.some((each) => matchesTarget(each, seen(text).host, seen(text).port));
          expect(targets.filter((text) => !covers(list, text))).toEqual([]);
          for (const spare of list) {
            const without = list.filter((each) => each !== spare);
            expect(targets.every((text) => covers(without, text))).toBe(targets.length === 0);
          }
          expect(texts.filter((text) => text.startsWith('*.') && isShared(text.slice(2)))).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });
});
