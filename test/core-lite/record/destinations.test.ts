/** The record of connections in sums by place, against a real database, written as egress and read as core. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { ConnectionLog, type ConnectionOpened } from '../../../core-lite/record/connection-log.ts';
import { type Destination, sumDestinations } from '../../../core-lite/record/destination-reader.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

let installation: Installation;
let core: Database;
let log: ConnectionLog;
let environmentId: string;

beforeAll(async () => {
  installation = await createInstallation();
  core = installation.as('sallyport_core');
  log = new ConnectionLog(installation.as('sallyport_egress'), 'rep_1', vi.fn());
});
beforeEach(() => {
  environmentId = makeId('env');
});
afterAll(async () => {
  await log?.close();
  await installation?.close();
});

async function open(host: string, more: Partial<ConnectionOpened> = {}): Promise<ConnectionOpened> {
  const row: ConnectionOpened = {
    id: makeId('con'),
    at: new Date(),
    environmentId,
    tokenId: 'tok_1',
    podUid: 'none',
    sessionId: null,
    turnId: null,
    source: '127.0.0.1',
    host,
    port: 443,
    verdict: 'reported',
    reason: 'reported',
    ...more,
  };
  await log.open(row);
  return row;
}

const sums = (filter: { since?: Date; limit?: number } = {}): Promise<Destination[]> =>
  sumDestinations(core, { environmentId, since: new Date(Date.now() - 60_000), limit: 10, ...filter });

describe('the sums', () => {
  it('count by place and decision, the most used first, with the first and the last time', async () => {
    const first = new Date(Date.now() - 30_000);
    const last = new Date();
    await open('a.test', { at: first });
    await open('b.test', { verdict: 'denied', reason: 'ip_literal' });
    await open('b.test', { port: 80 });
    await open('a.test', { at: last });
    const [one, ...others] = await sums();
    expect(one).toEqual({
      host: 'a.test',
      port: 443,
      decision: { verdict: 'reported', reason: 'reported' },
      verdict: 'reported',
      reason: 'reported',
      count: 2,
      firstAt: first,
      lastAt: last,
    });
    expect(others.map(({ port, reason, count }) => [port, reason, count])).toEqual([
      [80, 'reported', 1],
      [443, 'ip_literal', 1],
    ]);
  });

  it('tell what was let through from what failed after that', async () => {
    const ends = [
      { verdict: 'denied', reason: 'address_refused' },
      { verdict: 'reported', reason: 'client_closed' },
    ] as const;
    for (const end of ends) {
      const { id: connectionId } = await open('a.test');
      const nothing = {
        code: null,
        addresses: [],
        address: null,
        bytesUp: 0,
        bytesDown: 0,
        durationMs: 1,
        exchanges: 0,
      };
      log.end({ connectionId, at: new Date(), ...end, ...nothing });
    }
    const seen = async () =>
      (await sums()).map(({ decision, verdict, reason }) => [decision.reason, verdict, reason]);
    await expect.poll(seen).toEqual([
      ['reported', 'denied', 'address_refused'],
      ['reported', 'reported', 'reported'],
    ]);
  });

  it('are of the time, the environment and the number that were asked for', async () => {
    const now = Date.now();
    await open('old.test', { at: new Date(now - 120_000) });
    await open('foreign.test', { environmentId: makeId('env') });
    await open('a.test');
    await open('a.test');
    await open('b.test');
    const hosts = async (filter = {}) => (await sums(filter)).map(({ host }) => host);
    expect(await hosts()).toEqual(['a.test', 'b.test']);
    expect(await hosts({ limit: 1 })).toEqual(['a.test']);
    expect(await hosts({ since: new Date(now - 180_000) })).toEqual(['a.test', 'b.test', 'old.test']);
    expect(await hosts({ since: new Date(0) })).toHaveLength(3);
    expect(await hosts({ since: new Date(now + 86_400_000) })).toEqual([]);
  });
});
