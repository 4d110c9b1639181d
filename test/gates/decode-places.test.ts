/** Compressed bodies are decoded a few at a time, and no session takes the places or the turns of the others. */
import { describe, expect, it } from 'vitest';
import { DecodePlaces } from '../../gates/decode-places.ts';

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

/** Places, and what is done in them in its order. */
function start() {
  const places = new DecodePlaces();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const call = (name: string, signal = new AbortController().signal) =>
    places.decode(name.slice(0, 1), signal, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    });
  /** The oldest that runs ends; resolves when the next one runs. */
  const endOne = async () => {
    ends.shift()?.();
    await turnOfLoop();
  };
  return { begun, call, endOne };
}

describe('the places for decoding', () => {
  it('are held by one session to the half', async () => {
    const { begun, call, endOne } = start();
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1'].map((name) => call(name));
    await turnOfLoop();
    expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
    for (const _ of all) await endOne();
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1']);
  });

  it('come by turns of the sessions, however many of one wait', async () => {
    const { begun, call, endOne } = start();
    for (let i = 1; i <= 20; i += 1) void call(`a${i}`);
    for (const name of ['b1', 'b2', 'b3', 'b4', 'c1', 'c2']) void call(name);
    for (let i = 0; i < 10; i += 1) await endOne();
    const after = begun.slice(4);
    expect(after.slice(0, 6)).toEqual(['a3', 'c1', 'b3', 'a4', 'c2', 'b4']);
    expect(after.slice(6)).toEqual(['a5', 'a6']);
  });

  it('are waited for by so many of one session', async () => {
    const { begun, call, endOne } = start();
    const waiting = Array.from({ length: 34 }, (_, i) => call(`a${i}`));
    expect(await call('a-more')).toBe('gate_busy');
    void call('b1');
    expect(begun).toContain('b1');
    await endOne();
    const again = call('a-again');
    for (let i = 0; i < 36; i += 1) await endOne();
    expect([await again, (await Promise.all(waiting)).length]).toEqual(['a-again', 34]);
  });

  it('are not waited for when the call has ended', async () => {
    const { begun, call, endOne } = start();
    const gone = new AbortController();
    const held = ['a1', 'a2'].map((name) => call(name));
    const left = Array.from({ length: 32 }, (_, i) => call(`a-left${i}`, gone.signal));
    gone.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['stopped']));
    expect(await call('a-late', gone.signal)).toBe('stopped');
    const next = call('a3');
    for (let i = 0; i < 3; i += 1) await endOne();
    expect([await next, begun]).toEqual(['a3', ['a1', 'a2', 'a3']]);
    await Promise.all(held);
  });

  it('are free again after one that fails', async () => {
    const places = new DecodePlaces();
    let [running, most] = [0, 0];
    const work = async (i: number): Promise<number> => {
      running += 1;
      most = Math.max(most, running);
      await turnOfLoop();
      running -= 1;
      if (i % 3 === 0) throw new Error('malformed');
      return i;
    };
    const { signal } = new AbortController();
    const done = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) => places.decode(`ses_${i % 5}`, signal, () => work(i))),
    );
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    expect(most).toBe(4);
  });
});
