/** The record of connections against a real database, written as egress and read as core. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../../core-lite/database/pool.ts';
import { openDatabase } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import {
  type ConnectionEnded,
  ConnectionLog,
  type ConnectionOpened,
} from '../../../core-lite/record/connection-log.ts';
import {
  type ConnectionFilter,
  listConnections,
  listRefusalCounts,
} from '../../../core-lite/record/connection-reader.ts';
import { RefusalCounts } from '../../../core-lite/record/refusal-counts.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { putEnvironment, removeEnvironment } from '../../../core-lite/state/environment-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const AT = new Date('2026-06-01T12:00:00.123Z');
let installation: Installation;
let core: Database;
let egress: Database;
let log: ConnectionLog;
let environmentId: string;
let name: string;
let serial = 0;

beforeAll(async () => {
  installation = await createInstallation();
  core = installation.as('sallyport_core');
  egress = installation.as('sallyport_egress');
});
afterAll(() => installation?.close());
beforeEach(async () => {
  log = new ConnectionLog(egress, 'rep_1', vi.fn());
  name = `env-${++serial}`;
  environmentId = await makeEnvironment();
});

describe('a connection', () => {
  it('is there as it was opened, and is open', async () => {
    const row = opened({ sessionId: 'ses_1', turnId: 'trn_1' });
    await log.open(row);
    const { environmentId: id, ...rest } = row;
    expect(await list()).toEqual([
      { ...rest, environmentId: id, environment: name, replica: 'rep_1', end: null },
    ]);
  });

  it('has its end', async () => {
    const row = opened();
    await log.open(row);
    log.end(
      ended(row, {
        addresses: ['192.0.2.1', '2001:db8::1'],
        address: '2001:db8::1',
        bytesUp: 2 ** 40,
        durationMs: 12.6,
      }),
    );
    expect(await log.close()).toBe(0);
    const [read] = await list();
    expect(read).toMatchObject({ verdict: 'allowed', reason: 'allowlisted' });
    expect(read?.end).toMatchObject({
      reason: 'client_closed',
      addresses: ['192.0.2.1', '2001:db8::1'],
      address: '2001:db8::1',
      bytesUp: 2 ** 40,
      bytesDown: 20,
      durationMs: 13,
    });
    expect(new Date(read?.end?.at ?? '').getTime()).toBe(AT.getTime());
  });

  it('is denied where its end says so, and keeps why it was let through otherwise', async () => {
    const [one, two] = [opened(), opened()];
    await Promise.all([log.open(one), log.open(two)]);
    log.end(ended(one, { verdict: 'denied', reason: 'address_refused', addresses: [], address: null }));
    log.end(ended(two));
    await log.close();
    expect(await list({ verdict: 'denied' })).toMatchObject([
      { id: one.id, verdict: 'denied', reason: 'address_refused' },
    ]);
    expect(await list({ verdict: 'allowed' })).toMatchObject([{ id: two.id, reason: 'allowlisted' }]);
    expect((await list({ verdict: 'denied' }))[0]?.end?.addresses).toEqual([]);
  });

  it('ends once: what is sent again changes nothing', async () => {
    const row = opened();
    await log.open(row);
    log.end(ended(row));
    log.end(ended(row, { bytesUp: 99, reason: 'idle' }));
    await log.close();
    const again = new ConnectionLog(egress, 'rep_2', vi.fn());
    again.end(ended(row, { bytesUp: 98 }));
    expect(await again.close()).toBe(0);
    expect((await list())[0]?.end).toMatchObject({ bytesUp: 10, reason: 'client_closed' });
  });

  it('keeps the name of its environment when that is gone', async () => {
    await log.open(opened());
    await core.transaction((tx) => removeEnvironment(tx, name));
    expect(await list({ environment: name })).toMatchObject([{ environment: name }]);
    const next = await makeEnvironment();
    await log.open(opened({ environmentId: next }));
    expect(await list({ environment: name })).toHaveLength(2);
    expect(await list({ environment: environmentId })).toHaveLength(1);
  });

  it('of an environment that nobody knows is shown by its id', async () => {
    const stranger = makeId('env');
    await log.open(opened({ environmentId: stranger }));
    const rows = await listConnections(core, { limit: 1000 });
    expect(rows.find((row) => row.environmentId === stranger)).toMatchObject({ environment: stranger });
  });

  it('is committed with many others', async () => {
    const rows = Array.from({ length: 1_234 }, () => opened());
    await Promise.all(rows.map((row) => log.open(row)));
    for (const row of rows) log.end(ended(row));
    expect(await log.close()).toBe(0);
    const [counted] = await core.query(
      `SELECT count(*)::int AS opened, count(e.connection_id)::int AS ended FROM connections c
         LEFT JOIN connection_ends e ON e.connection_id = c.id WHERE environment_id = $1`,
      [environmentId],
    );
    expect(counted).toEqual({ opened: 1_234, ended: 1_234 });
  });
});

describe('without a database', () => {
  it('nothing is opened, and ends wait for it', async () => {
    const proxy = await startTcpProxy(installation.url);
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_egress');
    const away = new ConnectionLog(database, 'rep_1', vi.fn());
    const row = opened();
    await away.open(row);
    await proxy.cut();
    await expect(away.open(opened())).rejects.toMatchObject({ code: 'database_unreachable' });
    away.end(ended(row));
    await proxy.mend();
    await expect.poll(async () => (await list())[0]?.end?.reason, { timeout: 5_000 }).toBe('client_closed');
    await away.open(opened());
    expect(await away.close()).toBe(0);
    await database.close();
    await proxy.close();
  });

  it('what could not be written is told at the end', async () => {
    const proxy = await startTcpProxy(installation.url);
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_egress');
    const away = new ConnectionLog(database, 'rep_1', vi.fn());
    await proxy.cut();
    away.end(ended(opened()));
    expect(await away.close()).toBe(1);
    await database.close();
  });
});

describe('filters', () => {
  const HOSTS = [
    'a.example',
    'b.a.example',
    'c.b.a.example',
    'xa.example',
    'a.example.org',
    '%.example',
    'A_example',
  ];
  it.each<[filter: Partial<ConnectionFilter>, hosts: readonly string[]]>([
    [{}, HOSTS],
    [{ host: 'a.example' }, ['a.example']],
    [{ host: '*.a.example' }, ['b.a.example', 'c.b.a.example']],
    [{ host: '*.example' }, ['a.example', 'b.a.example', 'c.b.a.example', 'xa.example', '%.example']],
    [{ host: '%' }, []],
    [{ host: 'a_example' }, []],
    [{ host: '*.%' }, []],
    [{ host: `' OR true --` }, []],
    [{ host: '' }, []],
    [{ verdict: 'reported' }, []],
    [{ verdict: 'allowed', host: 'a.example' }, ['a.example']],
    [{ since: new Date(AT.getTime() + 1) }, []],
    [{ since: AT }, HOSTS],
  ])('%j', async (filter, hosts) => {
    for (const host of HOSTS) await log.open(opened({ host }));
    expect((await list(filter)).map((row) => row.host)).toEqual(hosts.toReversed());
  });

  it('of another environment, or none, match nothing of this one', async () => {
    await log.open(opened());
    expect(await list({ environment: 'env-none' })).toEqual([]);
    expect(await list({ environment: `${name}' --` })).toEqual([]);
  });
});

describe('pages', () => {
  it('go back from the newest, and on from what was seen', async () => {
    const rows = Array.from({ length: 10 }, () => opened());
    for (const row of rows) await log.open(row);
    const newest = rows.map((row) => row.id).toReversed();
    const pages: string[][] = [];
    let before: string | undefined;
    for (let i = 0; i < 4; i++) {
      const page = await list({ limit: 3, ...(before === undefined ? {} : { before }) });
      pages.push(page.map((row) => row.id));
      before = page.at(-1)?.id ?? before;
    }
    expect(pages).toEqual([newest.slice(0, 3), newest.slice(3, 6), newest.slice(6, 9), newest.slice(9)]);
    const after = await list({ after: rows[6]?.id ?? '', limit: 2 });
    expect(after.map((row) => row.id)).toEqual([rows[7]?.id, rows[8]?.id]);
  });
});

describe('refusal counts', () => {
  it('are one row a minute, source, environment and reason', async () => {
    const counts = new RefusalCounts(egress, 'rep_1', vi.fn());
    const later = new Date(AT.getTime() + 60_000);
    for (let i = 0; i < 5; i++) counts.add('192.0.2.1', null, 'token_missing', AT);
    counts.add('192.0.2.1', null, 'token_expired', AT);
    counts.add('192.0.2.2', null, 'token_missing', AT);
    counts.add('192.0.2.1', environmentId, 'connection_limit', AT);
    counts.add('192.0.2.1', null, 'token_missing', later);
    expect(await counts.close()).toBe(0);
    const replica = new RefusalCounts(egress, 'rep_2', vi.fn());
    replica.add('192.0.2.1', null, 'token_missing', AT);
    expect(await replica.close()).toBe(0);
    const rows = await listRefusalCounts(core, AT, 100);
    expect(
      rows
        .map((row) => `${row.minute.toISOString().slice(11, 16)} ${row.source} ${row.reason} ${row.count}`)
        .sort(),
    ).toEqual([
      '12:00 192.0.2.1 connection_limit 1',
      '12:00 192.0.2.1 token_expired 1',
      '12:00 192.0.2.1 token_missing 6',
      '12:00 192.0.2.2 token_missing 1',
      '12:01 192.0.2.1 token_missing 1',
    ]);
    expect(rows[0]?.minute.getTime()).toBe(new Date('2026-06-01T12:01:00Z').getTime());
    expect((await listRefusalCounts(core, later, 100)).map((row) => row.count)).toEqual([1]);
    expect(await listRefusalCounts(core, AT, 2)).toHaveLength(2);
  });

  it('of a flood from ever new sources stay few', async () => {
    const counts = new RefusalCounts(egress, 'rep_flood', vi.fn());
    for (let i = 0; i < 20_000; i++) counts.add(`2001:db8::${i.toString(16)}`, null, 'token_malformed', AT);
    expect(await counts.close()).toBe(0);
    const [row] = await core.query(
      `SELECT count(*)::int AS rows, sum(count)::int AS total FROM refusal_counts WHERE replica = 'rep_flood'`,
    );
    expect(row).toEqual({ rows: 1_001, total: 20_000 });
  });

  it('are written without being asked', async () => {
    const counts = new RefusalCounts(egress, 'rep_timer', vi.fn());
    counts.add('192.0.2.9', null, 'token_missing', AT);
    await expect
      .poll(() => core.query(`SELECT count::int FROM refusal_counts WHERE replica = 'rep_timer'`), {
        timeout: 5_000,
      })
      .toEqual([{ count: 1 }]);
    await counts.close();
  });
});

function list(filter: Partial<ConnectionFilter> = {}) {
  return listConnections(core, { environment: name, limit: 1000, ...filter });
}

async function makeEnvironment(): Promise<string> {
  const made = await core.transaction((tx) =>
    putEnvironment(tx, name, {
      kind: 'pod',
      mode: 'enforce',
      allow: [],
      maxConnections: 1,
      newPerSecond: 1,
      credentials: [],
    }),
  );
  return made.id;
}

function opened(change: Partial<ConnectionOpened> = {}): ConnectionOpened {
  return {
    id: makeId('con'),
    at: AT,
    environmentId,
    tokenId: 'tok_1',
    podUid: 'pod-1',
    sessionId: null,
    turnId: null,
    source: '10.1.2.3',
    host: 'a.example',
    port: 443,
    verdict: 'allowed',
    reason: 'allowlisted',
    ...change,
  };
}

function ended(row: ConnectionOpened, change: Partial<ConnectionEnded> = {}): ConnectionEnded {
  return {
    connectionId: row.id,
    at: AT,
    verdict: row.verdict,
    reason: 'client_closed',
    code: null,
    addresses: ['192.0.2.1'],
    address: '192.0.2.1',
    bytesUp: 10,
    bytesDown: 20,
    durationMs: 5,
    exchanges: 0,
    ...change,
  };
}
