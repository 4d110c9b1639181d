/** Some hundred hostile inputs to the live listener; test/long tries many more. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ListenerFuzz } from './listener-fuzz.ts';

let fuzzer: ListenerFuzz;
beforeAll(async () => {
  fuzzer = await ListenerFuzz.start();
}, 60_000);
afterAll(() => fuzzer?.close());

it('the listener passes nothing that a strict reading does not', { timeout: 600_000 }, async () => {
  const tried = await fuzzer.run(200);
  expect(fuzzer.opened).toBeGreaterThan(tried / 50);
  expect(fuzzer.plain).toBeGreaterThan(tried / 200);
  await expect.poll(() => fuzzer.rig.openConnections()).toBe(0);
});
