/** Some hundred hostile sessions of HTTP/2 inside interceptions; test/long tries many more. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FrameFuzz } from './frame-fuzz.ts';

let fuzzer: FrameFuzz;
beforeAll(async () => {
  fuzzer = await FrameFuzz.start();
}, 60_000);
afterAll(() => fuzzer?.close());

it('frames of a hostile client pass nothing that the client may not ask for', {
  timeout: 600_000,
}, async () => {
  const tried = await fuzzer.run(120);
  expect(fuzzer.reached).toBeGreaterThan(tried / 20);
  await expect.poll(() => fuzzer.rig.openConnections()).toBe(0);
});
