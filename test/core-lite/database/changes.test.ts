import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Change, ChangeFeed, type FeedListener } from '../../../core-lite/database/changes.ts';
import { LiveCache } from '../../../core-lite/database/live-cache.ts';
import type { Database } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { loadEnvironmentFacts } from '../../../core-lite/state/environment.ts';
import { putEnvironment, removeEnvironment } from '../../../core-lite/state/environment-store.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

let installation: Installation;
let owner: Database;

beforeAll(async () => {
  installation = await createInstallation();
  owner = installation.owner;
  await owner.query(`
    INSERT INTO vaults (id, name) VALUES ('v', 'v');
    INSERT INTO environments (id, name, kind, mode, max_connections, new_per_second) VALUES ('e1', 'one', 'pod', 'enforce', 1, 1);
    INSERT INTO environments (id, name, kind, mode, max_connections, new_per_second) VALUES ('e2', 'two', 'pod', 'enforce', 1, 1);
    INSERT INTO environments (id, name, kind, mode, max_connections, new_per_second) VALUES ('mark', 'mark', 'pod', 'enforce', 1, 1);
    INSERT INTO credentials (id, vault_id, name, kind, hosts, sealed) VALUES ('c1', 'v', 'c1', 'environment_secret', '{a.example}', '');
    INSERT INTO environment_credentials VALUES ('e1', 'c1'), ('e2', 'c1');`);
});

afterAll(() => installation?.close());

describe('a write', () => {
  const both: Change[] = [
    { kind: 'environment', id: 'e1' },
    { kind: 'environment', id: 'e2' },
  ];
  it.each<[name: string, statement: string, told: Change[]]>([
    [
      'environment made',
      `INSERT INTO environments (id, name, kind, mode, max_connections, new_per_second) VALUES ('e3', 'x', 'pod', 'enforce', 1, 1)`,
      [{ kind: 'environment', id: 'e3' }],
    ],
    [
      'policy',
      `UPDATE environments SET allow = '{b.example}' WHERE id = 'e1'`,
      [{ kind: 'environment', id: 'e1' }],
    ],
    [
      'host epoch',
      `UPDATE environments SET host_epoch = 2 WHERE id = 'e1'`,
      [{ kind: 'environment', id: 'e1' }],
    ],
    [
      'deletion',
      `UPDATE environments SET deleted_at = now() WHERE id = 'e3'`,
      [{ kind: 'environment', id: 'e3' }],
    ],
    ['many at once', `UPDATE environments SET mode = 'report' WHERE id IN ('e1', 'e2')`, both],
    [
      'unbinding',
      `DELETE FROM environment_credentials WHERE environment_id = 'e2'`,
      [{ kind: 'environment', id: 'e2' }],
    ],
    [
      'binding',
      `INSERT INTO environment_credentials VALUES ('e2', 'c1')`,
      [{ kind: 'environment', id: 'e2' }],
    ],
    [
      'rotation of a bound credential',
      `UPDATE credentials SET version = 2 WHERE id = 'c1'`,
      [{ kind: 'credential', id: 'c1' }, ...both],
    ],
    [
      'credential made',
      `INSERT INTO credentials (id, vault_id, name, kind, hosts, sealed) VALUES ('c2', 'v', 'c2', 'bearer', '{a.example}', '')`,
      [{ kind: 'credential', id: 'c2' }],
    ],
    ['credential removed', `DELETE FROM credentials WHERE id = 'c2'`, [{ kind: 'credential', id: 'c2' }]],
    [
      'key made',
      `INSERT INTO signing_keys (kid, state, public_jwk) VALUES ('k1', 'previous', '{}')`,
      [{ kind: 'signing_key', id: 'k1' }],
    ],
    [
      'key revoked',
      `UPDATE signing_keys SET state = 'revoked' WHERE kid = 'k1'`,
      [{ kind: 'signing_key', id: 'k1' }],
    ],
    ['key removed', `DELETE FROM signing_keys WHERE kid = 'k1'`, [{ kind: 'signing_key', id: 'k1' }]],
    [
      'authority made',
      `INSERT INTO authorities (id, state, certificate, sealed_private) VALUES ('a1', 'previous', '', '')`,
      [{ kind: 'authority', id: 'a1' }],
    ],
    [
      'budget put',
      `INSERT INTO budgets (id, name, scope, measure, amount, period) VALUES ('b1', 'b', 'turn', 'tokens', 1, 'day')`,
      [{ kind: 'budget', id: 'b1' }],
    ],
    ['budget changed', `UPDATE budgets SET amount = 2`, [{ kind: 'budget', id: 'b1' }]],
    ['budget removed', `DELETE FROM budgets`, [{ kind: 'budget', id: 'b1' }]],
    [
      'counters, which tell nobody',
      `INSERT INTO budget_counters (id, budget_id, scope_value, window_start, measure) VALUES ('k', 'b1', '*', now(), 'tokens')`,
      [],
    ],
    ['authority removed', `DELETE FROM authorities WHERE id = 'a1'`, [{ kind: 'authority', id: 'a1' }]],
    [
      'a change that is rolled back',
      `DO $$ BEGIN UPDATE environments SET mode = 'enforce' WHERE id = 'e1'; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $$`,
      [],
    ],
    [
      'connection',
      `INSERT INTO connections VALUES ('con_1', now(), 'e1', 't', 'p', null, null, 'r', 's', 'h', 443, 'allowed', 'allowlisted')`,
      [],
    ],
    [
      'connection’s end',
      `INSERT INTO connection_ends VALUES ('con_1', now(), 'allowed', 'x', '{}', null, 0, 0, 0)`,
      [],
    ],
    ['count', `INSERT INTO refusal_counts VALUES ('ref_1', now(), 'r', 's', null, 'x', 1)`, []],
    ['admin event', `INSERT INTO admin_events (id, actor, action, subject) VALUES ('x', 'x', 'x', 'x')`, []],
    ['vault', `INSERT INTO vaults (id, name) VALUES ('v2', 'v2')`, []],
    ['admin key', `INSERT INTO admin_keys (id, name, hash) VALUES ('x', 'x', 'x')`, []],
    ['a notice of a kind that we do not know', `SELECT pg_notify('sallyport_changes', 'turn t1')`, []],
    ['a notice without an id', `SELECT pg_notify('sallyport_changes', 'environment')`, []],
    ['a notice with too much', `SELECT pg_notify('sallyport_changes', 'environment e1 e2')`, []],
    [
      'a notice that is long',
      `SELECT pg_notify('sallyport_changes', 'environment ' || repeat('x', 5000))`,
      [],
    ],
    ['an empty notice', `SELECT pg_notify('sallyport_changes', '')`, []],
  ])('%s', async (_, statement, told) => {
    await withFeed(installation.url, async ({ heard, restored }) => {
      await restored();
      heard.length = 0;
      await owner.query(statement);
      // Notices arrive in the order of their commits: after the mark nothing of the statement can come.
      await owner.query(`UPDATE environments SET updated_at = now() WHERE id = 'mark'`);
      await expect.poll(() => heard.at(-1)).toEqual({ kind: 'environment', id: 'mark' });
      const sorted = (changes: Change[]) => changes.map((change) => `${change.kind} ${change.id}`).sort();
      expect(sorted(heard.slice(0, -1))).toEqual(sorted(told));
    });
  });

  it.each(['sallyport_core', 'sallyport_gates', 'sallyport_egress'] as const)(
    'is heard by %s',
    async (role) => {
      const feed = new ChangeFeed(new Secret(installation.url), role, makeId('rep'));
      const heard: Change[] = [];
      feed.subscribe({ change: (change) => void heard.push(change) });
      feed.start();
      await expect.poll(() => feed.live).toBe(true);
      await owner.query(`UPDATE environments SET updated_at = now() WHERE id = 'mark'`);
      await expect.poll(() => heard).toEqual([{ kind: 'environment', id: 'mark' }]);
      await feed.close();
    },
  );
});

describe('the feed', () => {
  it('is live within a second, and not before', async () => {
    await withFeed(installation.url, async ({ feed, restored }) => {
      expect(feed.live).toBe(false);
      const began = performance.now();
      await restored();
      expect(performance.now() - began).toBeLessThan(1_000);
      expect(feed.live).toBe(true);
    });
  });

  it('tells its listeners in the order in which they subscribed', async () => {
    const feed = new ChangeFeed(new Secret(installation.url), 'sallyport_egress', makeId('rep'));
    const order: number[] = [];
    for (const place of [1, 2, 3]) feed.subscribe({ restored: () => void order.push(place) });
    feed.start();
    await expect.poll(() => order).toEqual([1, 2, 3]);
    await feed.close();
  });

  it('is lost when its connection ends, and comes back', async () => {
    await withFeed(installation.url, async ({ events, restored, lost }) => {
      await restored();
      const began = performance.now();
      await owner.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'sallyport_egress'`,
      );
      await lost();
      expect(performance.now() - began).toBeLessThan(500);
      await restored();
      expect(events).toEqual(['restored', 'lost', 'restored']);
    });
  });

  it('is lost within about a second when the server hangs, and comes back', async () => {
    const proxy = await startTcpProxy(installation.url);
    await withFeed(proxy.through(installation.url), async ({ feed, events, restored, lost }) => {
      await restored();
      const began = performance.now();
      proxy.freeze();
      await lost();
      const lostAfter = performance.now() - began;
      expect(lostAfter).toBeLessThan(1_100);
      expect(lostAfter).toBeGreaterThan(400);
      expect(feed.live).toBe(false);
      proxy.thaw();
      await restored();
      expect(events).toEqual(['restored', 'lost', 'restored']);
    });
    await proxy.close();
  });

  it('is not lost while the server only pauses for a moment', async () => {
    const proxy = await startTcpProxy(installation.url);
    await withFeed(proxy.through(installation.url), async ({ events, heard, restored }) => {
      await restored();
      proxy.freeze();
      await new Promise((resolve) => setTimeout(resolve, 300));
      proxy.thaw();
      await owner.query(`UPDATE environments SET updated_at = now() WHERE id = 'mark'`);
      await expect.poll(() => heard.at(-1)?.id).toBe('mark');
      expect(events).toEqual(['restored']);
    });
    await proxy.close();
  });

  it('comes back from a server that hangs when it is asked to listen', async () => {
    const proxy = await startTcpProxy(installation.url, 'LISTEN');
    const feed = new ChangeFeed(
      new Secret(proxy.through(installation.url)),
      'sallyport_egress',
      makeId('rep'),
    );
    feed.start();
    const frozen = Promise.withResolvers<void>();
    proxy.onFreeze(() => frozen.resolve());
    await frozen.promise;
    proxy.thaw();
    await expect.poll(() => feed.live, { timeout: 8_000 }).toBe(true);
    await feed.close();
    await proxy.close();
  });

  it('waits for a database that is not there yet', async () => {
    const proxy = await startTcpProxy(installation.url);
    await proxy.cut();
    await withFeed(proxy.through(installation.url), async ({ feed, events, restored }) => {
      expect(feed.live).toBe(false);
      await proxy.mend();
      await restored();
      expect(events).toEqual(['restored']);
    });
    await proxy.close();
  });

  it.each(['live', 'frozen', 'cut'])('that is %s closes at once and says no more', async (state) => {
    const proxy = await startTcpProxy(installation.url);
    await withFeed(proxy.through(installation.url), async ({ feed, events, restored }) => {
      await restored();
      if (state === 'frozen') proxy.freeze();
      if (state === 'cut') await proxy.cut();
      const said = [...events];
      const began = performance.now();
      await feed.close();
      expect(performance.now() - began).toBeLessThan(1_000);
      if (state !== 'cut') expect(events).toEqual(said);
    });
    await proxy.close();
  });
});

it('a feed that still connects to a server that hangs closes at once', async () => {
  const proxy = await startTcpProxy(installation.url);
  proxy.freeze();
  const feed = new ChangeFeed(new Secret(proxy.through(installation.url)), 'sallyport_egress', makeId('rep'));
  feed.start();
  const began = performance.now();
  await feed.close();
  expect(performance.now() - began).toBeLessThan(1_000);
  await proxy.close();
});

it('a cache fill that races the deletion of an environment does not bring it back', async () => {
  const egress = installation.as('sallyport_egress');
  const { id } = await owner.transaction((tx) =>
    putEnvironment(tx, 'raced', {
      kind: 'pod',
      mode: 'enforce',
      allow: [],
      maxConnections: 1,
      newPerSecond: 1,
      credentials: [],
    }),
  );
  await withFeed(installation.url, async ({ feed, heard, restored }) => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const cache = new LiveCache(feed, {
      staleKeys: (change) => change.id,
      maxKeys: 10,
      load: async (key) => {
        const facts = await loadEnvironmentFacts(egress, key);
        asked.resolve();
        await gate.promise;
        return facts;
      },
    });
    await restored();
    const raced = cache.read(id);
    await asked.promise;
    await owner.transaction((tx) => removeEnvironment(tx, 'raced'));
    await expect.poll(() => heard.some((change) => change.id === id)).toBe(true);
    gate.resolve();
    expect(await raced).toMatchObject({ name: 'raced' });
    expect(cache.peek(id)).toBeUndefined();
    expect(await cache.read(id)).toBeNull();
  });
});

interface Driven {
  readonly feed: ChangeFeed;
  readonly heard: Change[];
  readonly events: string[];
  /** Resolves at the next one that was not waited for yet. */
  restored(): Promise<void>;
  lost(): Promise<void>;
}

async function withFeed(url: string, work: (driven: Driven) => Promise<void>): Promise<void> {
  const feed = new ChangeFeed(new Secret(url), 'sallyport_egress', makeId('rep'));
  const heard: Change[] = [];
  const events: string[] = [];
  const waiting = { restored: 0, lost: 0 };
  const listener: FeedListener = {
    change: (change) => void heard.push(change),
    lost: () => void events.push('lost'),
    restored: () => void events.push('restored'),
  };
  const next = async (event: 'restored' | 'lost'): Promise<void> => {
    waiting[event] += 1;
    const wanted = waiting[event];
    await expect
      .poll(() => events.filter((each) => each === event).length, { timeout: 10_000, interval: 10 })
      .toBeGreaterThanOrEqual(wanted);
  };
  feed.subscribe(listener);
  feed.start();
  try {
    await work({ feed, heard, events, restored: () => next('restored'), lost: () => next('lost') });
  } finally {
    await feed.close();
  }
}
