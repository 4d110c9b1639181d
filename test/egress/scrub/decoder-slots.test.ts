/** Places for decoders: bounded for all and for each, given in order, and never held by one environment against another. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DecoderSlots, MAX_WAIT_MS, type Slot } from '../../../egress/scrub/decoder-slots.ts';

/** Which of them have their places by now. */
async function placed(slots: readonly Slot[]): Promise<boolean[]> {
  const has = slots.map(() => false);
  for (const [i, slot] of slots.entries()) {
    void slot.take().then((there) => {
      has[i] = there;
    });
  }
  await new Promise(setImmediate);
  return has;
}

describe('places', () => {
  it('are as many as there are, and go on in the order in which they were asked for', async () => {
    const slots = new DecoderSlots(3, 2);
    const mine = Array.from({ length: 4 }, () => slots.ask('mine'));
    expect(await placed(mine)).toEqual([true, true, false, false]);
    mine[0]?.leave();
    mine[0]?.leave();
    expect(await placed(mine.slice(2))).toEqual([true, false]);
    for (const slot of mine) slot.leave();
    expect(await placed([slots.ask('mine'), slots.ask('mine'), slots.ask('mine')])).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('are there for everybody once, whoever holds the others', async () => {
    const slots = new DecoderSlots(2, 2);
    const mine = [slots.ask('mine'), slots.ask('mine')];
    const other = [slots.ask('other'), slots.ask('other')];
    expect(await placed([...mine, ...other])).toEqual([true, true, true, false]);
    mine[0]?.leave();
    expect(await placed(other)).toEqual([true, false]);
    mine[1]?.leave();
    expect(await placed(other)).toEqual([true, true]);
  });

  it('that were left while they were waited for are given to nobody', async () => {
    const slots = new DecoderSlots(1, 1);
    const [first, gone, next] = [slots.ask('e'), slots.ask('e'), slots.ask('e')];
    gone.leave();
    expect(await placed([gone, next])).toEqual([false, false]);
    first.leave();
    expect(await placed([next, slots.ask('e')])).toEqual([true, false]);
  });

  it('are waited for no longer than so long, and those who gave up are passed over', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const slots = new DecoderSlots(1, 1);
    const [first, late, next] = [slots.ask('e'), slots.ask('e'), slots.ask('e')];
    expect(await first.take()).toBe(true);
    const waited = late.take();
    vi.advanceTimersByTime(MAX_WAIT_MS - 1);
    expect(await placed([late, next])).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect(await waited).toBe(false);
    first.leave();
    expect(await placed([late, next])).toEqual([false, true]);
    // Nobody waits any more, and no timer is left.
    expect(vi.getTimerCount()).toBe(0);
  });
});

afterEach(() => {
  vi.useRealTimers();
});
