/**
 * Promise 2 by force: egress is killed in the middle of its work, PostgreSQL's sessions are killed under it, and still
 * there is no connection at the origin without a committed row. `test/long/crash.test.ts` kills a hundred times more.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CrashRig } from './crash-rig.ts';
import { killEgressOnce } from './kill-egress.ts';

// Only Linux has every address of 127.0.0.0/8, by which the origin tells the names apart.
describe.skipIf(process.platform !== 'linux')('a connection that reached the origin has its row', () => {
  let rig: CrashRig;
  beforeAll(async () => {
    rig = await CrashRig.start();
  }, 60_000);
  afterAll(() => rig?.close(), 60_000);

  it('whenever egress is killed', async () => {
    for (let kill = 0; kill < KILLS; kill += 1) await killEgressOnce(rig, kill);
  }, 120_000);

  it('whenever sessions of the database are ended or killed', async () => {
    const { program, port } = await rig.startEgress();
    const load = rig.load(port, CLIENTS);
    try {
      for (let turn = 0; turn < DATABASE_KILLS; turn += 1) {
        const opened = load.answers.get(200) ?? 0;
        // Between two kills it has recovered by itself and opens connections again.
        await expect.poll(() => load.answers.get(200) ?? 0, POLL).toBeGreaterThan(opened + 20);
        await (turn % 4 === 3 ? killOneSession(rig) : endAllSessions(rig));
      }
      const opened = load.answers.get(200) ?? 0;
      await expect.poll(() => load.answers.get(200) ?? 0, POLL).toBeGreaterThan(opened + 20);
      await load.stop();
      const { reached, unrecorded } = await rig.compare();
      expect(reached).toBeGreaterThan(20 * DATABASE_KILLS);
      expect(unrecorded).toEqual([]);
      expect(load.answers.get(503)).toBeGreaterThan(0);
    } finally {
      await load.stop();
      await program.end('SIGKILL');
    }
  }, 120_000);
});

async function endAllSessions(rig: CrashRig): Promise<void> {
  await rig.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`);
}

/** PostgreSQL answers the kill of one session by ending all of them and recovering from its log. */
async function killOneSession(rig: CrashRig): Promise<void> {
  const [row] = await rig.query(`SELECT pid FROM pg_stat_activity
    WHERE application_name = 'sallyport_egress' ORDER BY state = 'active' DESC LIMIT 1`);
  process.kill(Number(row?.['pid']), 'SIGKILL');
}

const KILLS = 3;
const DATABASE_KILLS = 4;
const CLIENTS = 32;
const POLL = { timeout: 15_000, interval: 10 };
