/** Where deflate was flushed: found wherever the bytes are cut. */
import { expect, it } from 'vitest';
import { FlushMarks } from '../../../egress/scrub/flush-marks.ts';

const BYTES = Buffer.from('ff000000ffff010000ffff0000ff', 'hex');

it.each([1, 2, 3, 4, 5, 6, 100])('in pieces of %i', (pieceBytes) => {
  const marks = new FlushMarks();
  const found: number[] = [];
  for (let at = 0; at < BYTES.length; at += pieceBytes) {
    const end = Math.min(at + pieceBytes, BYTES.length);
    for (let from = at; from < end; ) {
      const taken = marks.upToMark(BYTES.subarray(from, end));
      expect(taken.length).toBeGreaterThan(0);
      marks.read(taken);
      from += taken.length;
      if (marks.marked) found.push(from);
    }
  }
  expect(found).toEqual([6, 11]);
});
