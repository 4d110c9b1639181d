/** One round of the crash tests: egress under load, killed at one moment, and the record compared with the origin. */
import { expect } from 'vitest';
import type { CrashRig } from './crash-rig.ts';

/**
 * @param moment which one: even rounds kill in the very moment in which a connection reaches the origin, later ones at
 *   a later connection; odd rounds kill after some time, whatever happens then
 */
export async function killEgressOnce(rig: CrashRig, moment: number): Promise<void> {
  const { program, port } = await rig.startEgress();
  const killed = new Promise<void>((resolve) => {
    const kill = (): void => resolve(program.end('SIGKILL'));
    let left = 1 + ((moment * 7) % 150);
    rig.origin.onAccept = () => {
      left -= 1;
      if (left > 0) return;
      rig.origin.onAccept = () => {};
      if (moment % 2 === 0) kill();
      else setTimeout(kill, (moment * 13) % 100);
    };
  });
  const load = rig.load(port, CLIENTS);
  await killed;
  await load.stop();
  const { reached, unrecorded } = await rig.compare();
  expect(reached).toBeGreaterThan(0);
  expect(unrecorded, `killed at moment ${moment}`).toEqual([]);
}

const CLIENTS = 64;
