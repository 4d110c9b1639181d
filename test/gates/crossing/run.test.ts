/** A run's one chance to write: won once, never after a stop. */
import { describe, expect, it } from 'vitest';
import { CrossingRun } from '../../../gates/crossing/run.ts';

const runWith = (answer: (run: CrossingRun) => Promise<boolean>): CrossingRun => {
  const run: CrossingRun = new CrossingRun({ id: 'crs_1', attempt: 1 }, 'kid', () => answer(run));
  return run;
};

describe('send', () => {
  it('is won once', async () => {
    const run = runWith(async () => true);
    expect([await run.send(), await run.send()]).toEqual([true, false]);
    expect(run.sentAt).not.toBeNull();
    expect(run.beaten).toBe(false);
  });

  it('is lost to another owner', async () => {
    const run = runWith(async () => false);
    expect(await run.send()).toBe(false);
    expect([run.sentAt, run.beaten]).toEqual([null, true]);
  });

  it('is not asked for by one that was stopped, and not won by one that is stopped meanwhile', async () => {
    const stopped = runWith(() => Promise.reject(new Error('it was asked')));
    stopped.stop('cancelled');
    expect(await stopped.send()).toBe(false);
    const meanwhile = runWith(async (run) => {
      run.stop('ended');
      run.stop('cancelled');
      return true;
    });
    expect(await meanwhile.send()).toBe(false);
    expect([meanwhile.sentAt, meanwhile.stopped, meanwhile.signal.aborted]).toEqual([null, 'ended', true]);
  });

  it('is not won by one that has ended meanwhile, as when its time was over', async () => {
    const run = runWith(async (each) => {
      each.end();
      return true;
    });
    expect(await run.send()).toBe(false);
    expect([run.sentAt, run.beaten]).toEqual([null, false]);
    expect(await run.send()).toBe(false);
  });

  it('that nobody can answer rejects, and nothing was sent', async () => {
    const run = runWith(() => Promise.reject(new Error('away')));
    await expect(run.send()).rejects.toThrow('away');
    expect([run.sentAt, run.beaten]).toEqual([null, false]);
  });
});
