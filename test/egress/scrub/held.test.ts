/** Bytes that wait: what comes byte by byte takes few objects, and goes on as it came. */
import { expect, it } from 'vitest';
import { Held } from '../../../egress/scrub/held.ts';

it('single bytes, some of them framing, wait in few pieces and go on to the byte', () => {
  const held = new Held();
  const isData = (i: number) => i % 7 !== 0;
  for (let i = 0; i < 200_000; i++) held.push({ bytes: Buffer.of(i % 251), data: isData(i) ? [0, 1] : [] });
  expect(held.size).toBe(200_000);
  const first = held.takeTo(1000);
  const rest = held.takeAll();
  expect(first.length + rest.length).toBeLessThan(400);
  const all = Buffer.concat([...first, ...rest].map(({ bytes }) => bytes));
  expect(all.equals(Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251)))).toBe(true);
  // Every seventh byte is framing, the first of all too.
  expect(first.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBe(1167);
});

it('what is masked in joined pieces is the data alone', () => {
  const held = new Held();
  for (const letter of 'a|bc|def|')
    held.push({ bytes: Buffer.from(letter), data: letter === '|' ? [] : [0, 1] });
  held.mask(1, 4);
  expect(Buffer.concat(held.takeAll().map(({ bytes }) => bytes)).toString()).toBe('a|**|*ef|');
});
