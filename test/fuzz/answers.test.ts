/** Some hundred answers of hostile origins; test/long tries many more. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AnswerFuzz } from './answer-fuzz.ts';

let fuzzer: AnswerFuzz;
beforeAll(async () => {
  fuzzer = await AnswerFuzz.start();
}, 60_000);
afterAll(() => fuzzer?.close());

it('an answer of a hostile origin is passed on as one answer, or not at all', {
  timeout: 600_000,
}, async () => {
  const tried = await fuzzer.run(120);
  expect(fuzzer.passed).toBeGreaterThan(tried / 10);
  await expect.poll(() => fuzzer.inner.rig.openConnections()).toBe(0);
});
