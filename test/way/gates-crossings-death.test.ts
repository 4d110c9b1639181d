/** Keyed calls whose gate is killed or paused: no effect twice, what was lost is uncertain, and all are told the same. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CrossedGates, eventually, startCrossedGates } from '../support/crossed-gates.ts';
import { CrossingSoak } from '../support/crossing-soak.ts';
import type { Reply } from '../support/gates.ts';

let stand: CrossedGates;
let soak: CrossingSoak;
beforeAll(async () => {
  stand = await startCrossedGates({ SALLYPORT_LOG_LEVEL: 'info' });
  soak = new CrossingSoak(stand);
  await soak.start();
});
afterAll(async () => {
  await soak?.close();
  await stand?.close();
}, 60_000);
afterEach(() => {
  stand.tool.asked.length = 0;
});

/** What would take fifteen seconds: these gates are silent, and whoever else is there was heard all the while. */
async function silence(replica: string): Promise<void> {
  await stand.gates.owner.query(
    `UPDATE replicas SET steady_since = steady_since - interval '1 minute',
       heard_at = heard_at - CASE WHEN id = $1 THEN interval '1 minute' ELSE interval '0' END`,
    [replica],
  );
}

it('under load: a gate killed, then one paused for too long', async () => {
  const chaos: Promise<void>[] = [];
  const onAnswer = (answered: number): void => {
    if (answered === 20) chaos.push(soak.kill(0).then(silence));
    if (answered === 50) chaos.push(silence(soak.pause(1)));
    if (answered === 90) soak.wake(1);
  };
  const told = await soak.ask(110, 30, onAnswer);
  await Promise.all(chaos);
  expect(await soak.judge(told)).toEqual({ twice: [], unlike: [], gone: [], untrue: [] });
  const counts = await soak.count(told);
  expect(Object.keys(counts).toSorted()).toEqual(['completed', 'uncertain']);
  // The tool resets every eleventh.
  expect(counts['uncertain']).toBeGreaterThanOrEqual(10);
  expect((counts['completed'] ?? 0) + (counts['uncertain'] ?? 0)).toBe(110);
}, 90_000);

it('paused when it had sent: the others say uncertain, and so does it when it wakes', async () => {
  const run = await stand.run();
  const [paused, other] = soak.gates;
  const reply = Promise.withResolvers<void>();
  const behave = stand.tool.behave;
  stand.tool.behave = (_asked, response) => void reply.promise.then(() => response.end('{}'));
  const own = stand.call(run, 'paused', { port: paused?.port ?? 0 });
  await eventually(() => stand.count(1) === 1);
  await silence(soak.pause(0));
  const elsewhere = await stand.call(run, 'paused', { port: other?.port ?? 0 });
  expect(JSON.parse(elsewhere.text).error.code).toBe('http.lost');
  reply.resolve();
  soak.wake(0);
  // Its own caller is told that the gate was taken for dead, or what stands.
  const told = await own;
  if (told.status === 200) expect(told.text).toBe(elsewhere.text);
  else expect(JSON.parse(told.text).error.code).toBe('facts_unavailable');
  const again = (): Promise<Reply> => stand.call(run, 'paused', { port: paused?.port ?? 0 });
  await eventually(async () => (await again()).status === 200);
  expect((await again()).text).toBe(elsewhere.text);
  expect(stand.count(1)).toBe(1);
  stand.tool.behave = behave;
}, 60_000);
