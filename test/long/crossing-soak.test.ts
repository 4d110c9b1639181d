/**
 * Keyed calls at length: 1,000 of them on two gates that are killed and paused again and again, with callers that die and
 * send again and a tool that resets. The tool's own count shows no effect twice, and every lost one is uncertain.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CrossedGates, startCrossedGates } from '../support/crossed-gates.ts';
import { CrossingSoak } from '../support/crossing-soak.ts';

let stand: CrossedGates;
let soak: CrossingSoak;
beforeAll(async () => {
  stand = await startCrossedGates({ SALLYPORT_LOG_LEVEL: 'info' });
  soak = new CrossingSoak(stand);
  await soak.start();
}, 60_000);
afterAll(async () => {
  await soak?.close();
  await stand?.close();
}, 60_000);

it('1,000 keyed calls: no effect twice, none silently gone', async () => {
  let answered = 0;
  let asking = true;
  const told = soak.ask(CALLS, CALLERS, (count) => {
    answered = count;
  });
  const chaos = (async () => {
    for (let round = 0; asking; round += 1) {
      await sleep(1_500);
      const place = round % 2;
      if (round % 3 === 0) await soak.kill(place);
      else {
        soak.pause(place);
        // Every other time until the other gate takes it for dead, by the database's own clock.
        await sleep(round % 3 === 1 ? DEAD_MS : 2_000);
        soak.wake(place);
      }
    }
  })();
  const asked = told.finally(() => {
    asking = false;
  });
  const [all] = await Promise.all([asked, chaos]);
  expect(answered).toBe(CALLS);
  expect(await soak.judge(all)).toEqual({ twice: [], unlike: [], gone: [], untrue: [] });
  const counts = await soak.count(all);
  expect(Object.keys(counts).toSorted()).toEqual(['completed', 'uncertain']);
  console.info(`crossings: ${JSON.stringify(counts)}`);
  const [database] = await stand.gates.owner.query<{ deadlocks: number }>(
    'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
  );
  expect(database?.deadlocks).toBe(0);
});

const CALLS = 1_000;
const CALLERS = 16;
/** Fifteen seconds, and a heartbeat of the others. */
const DEAD_MS = 21_000;
