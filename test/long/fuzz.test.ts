/** The fuzzers at length, with seeds of their own each time, and what they may cost in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import { AnswerFuzz } from '../fuzz/answer-fuzz.ts';
import { FrameFuzz } from '../fuzz/frame-fuzz.ts';
import type { FuzzRig } from '../fuzz/fuzz-rig.ts';
import { InterceptionFuzz } from '../fuzz/interception-fuzz.ts';
import { ListenerFuzz } from '../fuzz/listener-fuzz.ts';

const HOURS = 6 * 3_600_000;
const MOST_GROWTH = 64 << 20;
const seed = () => Date.now() % 1_000_000_000;

let close: () => Promise<void> = async () => {};
afterEach(() => close(), 60_000);

interface Fuzzer {
  run(inputs: number, seed: number): Promise<number>;
  close(): Promise<void>;
}

/** Memory has its size after a part of the inputs; the others add nothing that stays. */
async function runAll(fuzzer: Fuzzer, rig: FuzzRig, inputs: number): Promise<void> {
  close = () => fuzzer.close();
  const first = Math.ceil(inputs / 4);
  const tried = await fuzzer.run(first, seed());
  const before = await rig.residentBytes();
  await fuzzer.run(inputs - first, seed() + 1_000);
  console.info(
    `${inputs} inputs, then ${(((await rig.residentBytes()) - before) / 2 ** 20).toFixed(1)} MiB more`,
  );
  expect(tried).toBeGreaterThanOrEqual(first);
  expect((await rig.residentBytes()) - before).toBeLessThan(MOST_GROWTH);
  await expect.poll(() => rig.openConnections(), { timeout: 30_000 }).toBe(0);
}

describe('nothing that a strict reading does not permit, and no memory that stays', {
  timeout: HOURS,
}, () => {
  it('200,000 inputs to the listener', async () => {
    const fuzzer = await ListenerFuzz.start();
    await runAll(fuzzer, fuzzer.rig, 200_000);
    expect(fuzzer.opened).toBeGreaterThan(1_000);
    expect(fuzzer.plain).toBeGreaterThan(1_000);
  });

  it('200,000 inputs inside interceptions', async () => {
    const fuzzer = await InterceptionFuzz.start();
    await runAll(fuzzer, fuzzer.rig, 200_000);
    expect(fuzzer.answered).toBeGreaterThan(50_000);
  });

  it('20,000 sessions of hostile frames', async () => {
    const fuzzer = await FrameFuzz.start();
    await runAll(fuzzer, fuzzer.rig, 20_000);
    expect(fuzzer.reached).toBeGreaterThan(1_000);
  });

  it('20,000 answers of hostile origins', async () => {
    const fuzzer = await AnswerFuzz.start();
    await runAll(fuzzer, fuzzer.inner.rig, 20_000);
    expect(fuzzer.passed).toBeGreaterThan(2_000);
  });
});
