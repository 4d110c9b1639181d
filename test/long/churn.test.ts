/** Tunnels by the hundred thousand, each broken off at some stage: no socket stays, and memory comes back. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FuzzRig } from '../fuzz/fuzz-rig.ts';
import { connectHead, connectTo } from '../support/client.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';
import { Random } from '../support/random.ts';

let origin: Origin;
let rig: FuzzRig;
let target: string;

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  target = `churn.open.test:${origin.port}`;
  rig = await FuzzRig.start({
    hosts: '127.0.0.1 churn.open.test\n',
    open: '*.open.test=127.0.0.0/8',
    environment: { allow: [target] },
  });
}, 60_000);
afterAll(async () => {
  await rig?.close();
  await origin?.close();
}, 60_000);

/** One tunnel that ends at `stage`, by its client or its origin, cleanly or not. */
async function once(stage: number): Promise<void> {
  const client = await connectTo(rig.port);
  client.send(connectHead(target, await rig.token()));
  if (stage === 0) return client.reset();
  const answer = await client.answer(20_000);
  if (answer.status !== 200) throw new Error(answer.text);
  if (stage === 1) return client.reset();
  client.send('hello');
  if (stage === 2) return client.close();
  await client.text(5);
  if (stage === 3) return client.reset();
  client.finish();
  await client.ending();
  client.close();
}

async function churn(tunnels: number, random: Random): Promise<void> {
  let left = tunnels;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      await once(random.below(5));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await expect.poll(() => rig.openConnections(), { timeout: 30_000 }).toBe(0);
  await expect.poll(() => origin.open, { timeout: 30_000 }).toBe(0);
}

it('100,000 tunnels leave nothing behind', { timeout: 3_600_000 }, async () => {
  const random = new Random(5);
  const tunnels = Number(process.env['CHURN_TUNNELS'] ?? 100_000);
  console.info(`${tunnels} tunnels, CHURN_TUNNELS sets how many`);
  const files: number[] = [];
  const bytes: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await churn(tunnels / ROUNDS, random);
    files.push(await rig.openFiles());
    bytes.push(await rig.residentBytes());
    console.info(`round ${round}: ${files.at(-1)} files, ${((bytes.at(-1) ?? 0) / 2 ** 20).toFixed(0)} MiB`);
  }
  // A connection of the pool more or less.
  await expect.poll(() => rig.openFiles(), { timeout: 30_000 }).toBeLessThanOrEqual((files[0] ?? 0) + 8);
  // The heap grows to its size first; what is kept of a tunnel would show from then on.
  expect((bytes.at(-1) ?? 0) - (bytes[SETTLED] ?? 0)).toBeLessThan(32 << 20);
  rig.assertSound();
});

const AT_ONCE = 48;
const ROUNDS = 10;
const SETTLED = 4;
