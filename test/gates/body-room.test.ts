/** What the bodies of calls may hold together, and what a call lets go of. */
import { describe, expect, it } from 'vitest';
import { ECHO_MODEL } from '../../core-lite/state/model.ts';
import { CallBody } from '../../gates/act/write-body.ts';
import { type BodyHold, BodyRoom } from '../../gates/body-room.ts';
import { OPERATIONS } from '../../gates/dialects/operations.ts';
import { readModelBody } from '../../gates/read/model-call.ts';

const LIMITS = { runBytes: 10, allBytes: 25, spareBytes: 0, littleBytes: 0, runComing: 3, comingBytes: 2 };

describe('the room for bodies', () => {
  const room = () => new BodyRoom(LIMITS);

  it('is full for one run before it is for others', () => {
    const all = room();
    expect(all.open('a').set(6)).toBeNull();
    expect(all.open('a').set(5)).toBe('run_busy');
    expect(all.open('a').set(4)).toBeNull();
    expect(all.open('b').set(10)).toBeNull();
    expect(all.open('c').set(6)).toBe('gate_busy');
    expect(all.open('c').set(5)).toBeNull();
    expect(all.open('d').set(0)).toBeNull();
  });

  it('is left in part to runs that hold little', () => {
    const all = new BodyRoom({ ...LIMITS, spareBytes: 5, littleBytes: 2 });
    const [large, second, third] = [all.open('a'), all.open('b'), all.open('c')];
    expect([large.set(10), second.set(10), third.set(3)]).toEqual([null, null, 'gate_busy']);
    expect(third.set(2)).toBeNull();
    expect([all.open('c').set(1), all.open('a').begin()]).toEqual(['gate_busy', 'run_busy']);
    expect([all.open('d').begin(), all.open('e').set(1), all.open('f').set(1)]).toEqual([
      null,
      null,
      'gate_busy',
    ]);
    large.set(9);
    expect([large.set(10), all.open('f').set(1)]).toEqual(['gate_busy', null]);
  });

  it('is there again for what was let go of, once', () => {
    const all = room();
    const [one, other] = [all.open('a'), all.open('a')];
    expect([one.set(10), other.set(1)]).toEqual([null, 'run_busy']);
    expect([one.set(11), one.set(9), other.set(1)]).toEqual(['run_busy', null, null]);
    one.release();
    one.release();
    expect([one.set(10), other.set(10), other.set(11)]).toEqual([null, null, 'run_busy']);
    other.release();
    const again = [...'ab'].map((run) => all.open(run).set(10));
    expect([...again, all.open('c').set(6)]).toEqual([null, null, 'gate_busy']);
  });

  it('is taken by every body that comes, of which one run may have so many', () => {
    const all = room();
    const coming = Array.from({ length: 3 }, () => all.open('a'));
    for (const hold of coming) expect(hold.begin()).toBeNull();
    const [one, other] = coming as [BodyHold, BodyHold];
    const next = all.open('a');
    expect([next.begin(), all.open('b').begin()]).toEqual(['run_busy', null]);
    expect([one.set(1), other.set(5), one.set(4)]).toEqual([null, null, 'run_busy']);
    expect([other.set(6), other.set(7)]).toEqual([null, 'run_busy']);
    one.end();
    expect([other.set(7), next.begin()]).toEqual([null, 'run_busy']);
    one.release();
    other.end();
    other.set(1);
    expect(next.begin()).toBeNull();
    next.release();
    next.release();
    expect([all.open('a').begin(), all.open('a').begin(), all.open('a').begin()]).toEqual([
      null,
      null,
      'run_busy',
    ]);
  });

  it('is counted of all that come, and none of what was let go of', () => {
    const all = new BodyRoom({ ...LIMITS, runComing: 9, comingBytes: 5 });
    const coming = ['a', 'a', 'b', 'b', 'c'].map((run) => all.open(run));
    expect(coming.map((hold) => hold.begin())).toEqual(Array(5).fill(null));
    const more = all.open('c');
    expect([more.begin(), all.open('a').begin()]).toEqual(['gate_busy', 'run_busy']);
    for (const hold of coming) hold.release();
    expect([...'aabbc'].map((run) => all.open(run).begin())).toEqual(Array(5).fill(null));
    const gone = all.open('c');
    gone.release();
    expect([gone.begin(), gone.set(100)]).toEqual([null, null]);
    expect(more.begin()).toBe('gate_busy');
  });
});

describe('the body of a call', () => {
  it('is let go of when it is written for the last time', () => {
    const plain = Buffer.from('{"model":"m"}');
    const read = readModelBody(plain, OPERATIONS.chat, null);
    if ('refusal' in read) throw new Error(read.refusal);
    const body = new CallBody(Buffer.from('compressed'), 'gzip', plain);
    const write = (upstreamName: string, more: boolean) =>
      body.write(read, { ...ECHO_MODEL, upstreamName }, more).body.toString();
    expect([write('m', true), write('n', true)]).toEqual(['compressed', '{"model":"n"}']);
    expect([body.plain, write('n', false), body.plain.length]).toEqual([plain, '{"model":"n"}', 0]);
  });
});
