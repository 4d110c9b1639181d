/** Some hundred hostile inputs inside a live interception; test/long tries many more. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { InterceptionFuzz } from './interception-fuzz.ts';

let fuzzer: InterceptionFuzz;
beforeAll(async () => {
  fuzzer = await InterceptionFuzz.start();
}, 60_000);
afterAll(() => fuzzer?.close());

it('an interception passes nothing that a strict reading does not', { timeout: 600_000 }, async () => {
  const tried = await fuzzer.run(200);
  expect(fuzzer.answered).toBeGreaterThan(tried / 4);
  await expect.poll(() => fuzzer.rig.openConnections()).toBe(0);
});
