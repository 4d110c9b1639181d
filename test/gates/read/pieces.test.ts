/** The pieces of a body: joined as they came, and no dearer for how they came. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Pieces } from '../../../gates/read/pieces.ts';

const KIB = 1024;
/** What one turn of the connection brings: its pieces are cut from it. */
const READ_BYTES = 64 * KIB;

setFlagsFromString('--expose-gc');
/** Lets go of what nobody has. */
const collect: () => void = runInNewContext('gc');

/** How much more memory there is than before, with all that was made kept. */
function tookFor(make: () => readonly Pieces[]): number {
  collect();
  const before = process.memoryUsage();
  const made = make();
  collect();
  const after = process.memoryUsage();
  expect(made.length).toBeGreaterThan(0);
  return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
}

describe('the pieces of a body', () => {
  it('are joined in their order, whatever their sizes', () => {
    const pieces = new Pieces();
    const sent = Array.from({ length: 3_000 }, (_, i) => Buffer.alloc(i % 700 === 0 ? 5_000 : i % 3, i));
    for (const piece of sent) pieces.add(piece);
    const all = Buffer.concat(sent);
    expect([pieces.bytes, pieces.take().equals(all)]).toEqual([all.length, true]);
    expect(pieces.take()).toHaveLength(0);
  });

  it('are joined in their order where they are cut from what was read', () => {
    const read = Buffer.from(Array.from({ length: READ_BYTES }, (_, i) => i % 251));
    for (const size of [1, 7, 511, 4_096, 5_000, 40_000, READ_BYTES]) {
      const pieces = new Pieces();
      for (let at = 0; at < 3 * READ_BYTES; at += size) {
        const from = at % READ_BYTES;
        pieces.add(read.subarray(from, from + size));
        pieces.add(Buffer.from([size % 251]));
      }
      const sent: Buffer[] = [];
      for (let at = 0; at < 3 * READ_BYTES; at += size) {
        const from = at % READ_BYTES;
        sent.push(read.subarray(from, from + size), Buffer.from([size % 251]));
      }
      expect([size, pieces.take().equals(Buffer.concat(sent))]).toEqual([size, true]);
    }
  });

  it('are not changed by what is done to the memory that small ones were read into', () => {
    const pieces = new Pieces();
    const read = Buffer.alloc(READ_BYTES, 'a');
    pieces.add(read.subarray(0, 5_000));
    pieces.add(read.subarray(5_000, 5_001));
    read.fill('b');
    expect(pieces.take().toString()).toBe('a'.repeat(5_001));
  });

  it('are not copied where a large one has its memory for itself', () => {
    const pieces = new Pieces();
    const large = Buffer.allocUnsafeSlow(READ_BYTES);
    pieces.add(large);
    expect(pieces.take()).toBe(large);
  });

  it('take little more than their bytes, of one body', () => {
    const took = tookFor(() => {
      const pieces = new Pieces();
      for (let i = 0; i < 1_000_000; i += 1) pieces.add(Buffer.allocUnsafeSlow(1));
      expect(pieces.bytes).toBe(1_000_000);
      return [pieces];
    });
    expect(took).toBeLessThan(10_000_000);
  });

  it('take little more than their bytes, of many bodies that each have few', () => {
    const took = tookFor(() =>
      Array.from({ length: 500 }, () => {
        const pieces = new Pieces();
        const read = Buffer.allocUnsafeSlow(6_000);
        for (let i = 0; i < 1_000; i += 1) pieces.add(read.subarray(i * 6 + 3, i * 6 + 4));
        return pieces;
      }),
    );
    // 0.5 MB of theirs; kept as they are, they took 60 MB.
    expect(took).toBeLessThan(10_000_000);
  });

  it('keep nothing of what else was read with them', () => {
    const took = tookFor(() =>
      Array.from({ length: 1_000 }, () => {
        const pieces = new Pieces();
        pieces.add(Buffer.alloc(READ_BYTES).subarray(0, 5_000));
        return pieces;
      }),
    );
    // 5 MB of theirs; 66 MB were read.
    expect(took).toBeLessThan(20_000_000);
  });
});
