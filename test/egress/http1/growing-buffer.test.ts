/** Pieces that become one, without a copy for each. */
import { expect, it } from 'vitest';
import { GrowingBuffer } from '../../../egress/http1/growing-buffer.ts';

it('holds what came, and is empty again when it was cleared', () => {
  const buffer = new GrowingBuffer();
  for (const piece of ['', 'a', '', 'bc', 'd'.repeat(5_000), 'e']) buffer.push(Buffer.from(piece));
  expect(buffer.bytes.toString()).toBe(`abc${'d'.repeat(5_000)}e`);
  buffer.clear();
  buffer.push(Buffer.from('f'));
  expect([buffer.length, buffer.bytes.toString()]).toEqual([1, 'f']);
});

it('never writes into a piece that it was given', () => {
  const came = Buffer.from('ab--');
  const buffer = new GrowingBuffer();
  buffer.push(came.subarray(0, 2));
  buffer.push(Buffer.from('cd'));
  expect([buffer.bytes.toString(), came.toString()]).toEqual(['abcd', 'ab--']);
});

it('copies few times what comes byte by byte', () => {
  const buffer = new GrowingBuffer();
  const places = new Set<unknown>();
  for (let i = 0; i < 60_000; i += 1) {
    buffer.push(Buffer.of(i % 256));
    places.add(buffer.bytes.buffer);
  }
  expect(buffer.bytes.equals(Buffer.from(Array.from({ length: 60_000 }, (_, i) => i % 256)))).toBe(true);
  expect(places.size).toBeLessThan(12);
});
