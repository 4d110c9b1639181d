/** The crash test of the way, at length: 120 moments instead of eight. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CrashRig } from '../way/crash-rig.ts';
import { killEgressOnce } from '../way/kill-egress.ts';

let rig: CrashRig;
beforeAll(async () => {
  rig = await CrashRig.start();
}, 60_000);
afterAll(() => rig?.close(), 60_000);

it.skipIf(process.platform !== 'linux')(
  'has a row for whatever reached the origin, killed at any moment',
  async () => {
    for (let kill = 0; kill < KILLS; kill += 1) await killEgressOnce(rig, kill);
    expect.hasAssertions();
  },
);

const KILLS = 120;
