/** The tokens of a run as time goes by, with a core that is scripted. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Beat, HeldTokens, type RunTokens } from '../../pod/renew.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const FIRST: RunTokens = { runToken: 'r1', runTokenExpiresAt: at(15), egressToken: 'e1' };

let beats: (Beat | Error)[];
let asked: string[];
let stale: number;
let troubles: number;
let held: HeldTokens;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  [beats, asked, stale, troubles] = [[], [], 0, 0];
  held = new HeldTokens({
    tokens: FIRST,
    heartbeat: async (expiresAt) => {
      asked.push(expiresAt);
      const beat = beats.shift() ?? {};
      if (beat instanceof Error) throw beat;
      return beat;
    },
    onStale: () => {
      stale += 1;
    },
    onTrouble: () => {
      troubles += 1;
    },
  });
});
afterEach(() => {
  held.close();
  vi.useRealTimers();
});

describe('the heartbeat', () => {
  it('comes each minute and says which token is held', async () => {
    await vi.advanceTimersByTimeAsync(3 * MINUTE);
    expect(asked).toEqual([at(15), at(15), at(15)]);
    expect([held.runToken, held.egressToken]).toEqual(['r1', 'e1']);
  });

  it('brings new tokens, which are used from then on', async () => {
    beats = [{ runToken: 'r2', runTokenExpiresAt: at(30), egressToken: 'e2' }, { runToken: 'r3' }];
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect([held.runToken, held.egressToken]).toEqual(['r2', 'e2']);
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(asked).toEqual([at(15), at(30)]);
    expect([held.runToken, held.egressToken]).toEqual(['r3', 'e2']);
  });

  it('that finds the run over says so once, and is the last; the tokens stay', async () => {
    beats = ['stale'];
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect([stale, asked.length, held.runToken]).toEqual([1, 1, 'r1']);
  });

  it('is tried again soon where core does not answer, and nobody is troubled while the token lasts', async () => {
    beats = [new Error('away'), new Error('away')];
    await vi.advanceTimersByTimeAsync(MINUTE + 10_000);
    expect([asked.length, troubles, stale]).toEqual([3, 0, 0]);
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(asked.length).toBe(4);
  });

  it('that fails until the token runs out troubles its owner once', async () => {
    beats = Array.from({ length: 500 }, () => new Error('away'));
    await vi.advanceTimersByTimeAsync(20 * MINUTE);
    expect([troubles, stale]).toEqual([1, 0]);
  });

  it('ends with its owner', async () => {
    held.close();
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    expect(asked).toEqual([]);
  });
});

function at(minute: number): string {
  return new Date(START + minute * MINUTE).toISOString();
}
