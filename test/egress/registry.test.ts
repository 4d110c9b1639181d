/** The registry with a feed and facts that the test speaks for: what is counted, what is judged, what ends. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Change, ChangeFeed, FeedListener } from '../../core-lite/database/changes.ts';
import { parseHostPatterns } from '../../core-lite/network/policy.ts';
import { parseTarget } from '../../core-lite/network/target.ts';
import type { EnvironmentFacts } from '../../core-lite/state/environment.ts';
import { VerifiedToken } from '../../core-lite/tokens/verify.ts';
import { Connection } from '../../egress/connection.ts';
import type { Facts } from '../../egress/facts.ts';
import { Registry } from '../../egress/registry.ts';

const GRACE_MS = 5_000;
const STOP = { refusal: 'shutting_down', ending: 'shutting_down' } as const;

let feed: FeedListener & { live: boolean };
let environments: Map<string, EnvironmentFacts | null>;
let kids: string[];
let broken: boolean;
let registry: Registry;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  feed = { live: true };
  environments = new Map();
  kids = ['key-1'];
  broken = false;
  const read = async <T>(value: () => T): Promise<T> => {
    if (broken) throw new Error('away');
    return value();
  };
  // Classes with private fields: what the registry uses of them is all there is here.
  const facts = {
    keys: () => read(() => ({ tenantId: 'ten_1', byKid: new Map(kids.map((kid) => [kid, null])) })),
    environment: (id: string) => read(() => environments.get(id) ?? null),
  } as unknown as Facts;
  const source = {
    get live() {
      return feed.live;
    },
    subscribe: (listener: FeedListener) => Object.assign(feed, listener),
  } as unknown as ChangeFeed;
  registry = new Registry({ feed: source, facts, graceMs: GRACE_MS, now: Date.now });
});

afterEach(() => {
  registry.close();
  vi.useRealTimers();
});

function allow(id: string, hosts: readonly string[], hostEpoch = 0): void {
  const network = {
    mode: 'enforce',
    allow: parseHostPatterns(hosts),
    maxConnections: 10,
    newPerSecond: 10,
  } as const;
  environments.set(id, { id, name: id, hostEpoch, podUid: 'none', network, bindings: [] });
}

function add(environment = 'env_1', kid = 'key-1', host = 'a.test'): Connection {
  const target = parseTarget(`${host}:443`);
  if (!target) throw new TypeError(host);
  const token = new VerifiedToken('egress', { sub: environment, hep: 0, pod: 'none' }, 'tok_1', kid, 2e9);
  const connection = new Connection(token, target, '127.0.0.1', new Date());
  registry.add(connection);
  return connection;
}

async function tell(change: Change): Promise<void> {
  feed.change?.(change);
  await vi.advanceTimersByTimeAsync(0);
}

const changed = (id = 'env_1') => tell({ kind: 'environment', id });

async function lose(): Promise<void> {
  feed.live = false;
  feed.lost?.();
}

describe('what a connection meets', () => {
  it('is counted from the moment it was counted in, not from when it came', () => {
    const [first, second] = [add(), add()];
    expect(registry.size).toBe(2);
    expect(registry.countIn(first)).toEqual({ open: 0, recent: 0 });
    expect(registry.countIn(second)).toEqual({ open: 1, recent: 1 });
    expect(registry.countIn(add('env_2'))).toEqual({ open: 0, recent: 0 });
    registry.remove(first);
    registry.remove(first);
    expect(registry.size).toBe(2);
    expect(registry.countIn(add())).toEqual({ open: 1, recent: 2 });
  });

  it('is counted by the second, for those too that have ended', () => {
    for (let i = 0; i < 3; i += 1) {
      const connection = add();
      expect(registry.countIn(connection)).toEqual({ open: 0, recent: i });
      registry.remove(connection);
    }
    vi.advanceTimersByTime(1_000);
    expect(registry.countIn(add())).toEqual({ open: 0, recent: 0 });
  });
});

describe('a change', () => {
  it('ends what it forbids, and nothing else', async () => {
    allow('env_1', ['a.test']);
    allow('env_2', ['a.test']);
    const [mine, other, elsewhere] = [add(), add('env_1', 'key-1', 'b.test'), add('env_2')];
    await changed();
    expect(mine.stopped).toBeNull();
    expect(other.stopped).toEqual({ refusal: 'host_denied', ending: 'policy_changed' });
    allow('env_1', ['a.test'], 1);
    await changed();
    expect(mine.stopped?.ending).toBe('host_superseded');
    environments.set('env_2', null);
    await changed('env_2');
    expect(elsewhere.stopped?.ending).toBe('environment_gone');
    expect(elsewhere.signal.aborted).toBe(true);
  });

  it('of a key ends what its tokens opened', async () => {
    kids = ['key-2'];
    const [old, fresh] = [add('env_1', 'key-1'), add('env_1', 'key-2')];
    await tell({ kind: 'signing_key', id: 'key-1' });
    expect(old.stopped).toEqual({ refusal: 'token_untrusted', ending: 'key_revoked' });
    expect(fresh.stopped).toBeNull();
  });

  it('whose facts cannot be read is judged when they can', async () => {
    const [mine, signed] = [add(), add('env_2', 'key-9')];
    allow('env_2', ['a.test']);
    broken = true;
    await changed();
    await tell({ kind: 'signing_key', id: 'key-9' });
    await vi.advanceTimersByTimeAsync(2_000);
    expect([mine.stopped, signed.stopped]).toEqual([null, null]);
    broken = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(mine.stopped?.ending).toBe('environment_gone');
    expect(signed.stopped?.ending).toBe('key_revoked');
  });

  it('whose facts can never be read ends what it may concern after the grace', async () => {
    const [mine, elsewhere] = [add(), add('env_2')];
    broken = true;
    await changed();
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(mine.stopped).toBeNull();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(mine.stopped?.ending).toBe('feed_lost');
    expect(elsewhere.stopped).toBeNull();
  });

  it('that is known and not judged yet makes the look again read the facts', async () => {
    const mine = add();
    feed.change?.({ kind: 'environment', id: 'env_1' });
    expect((await registry.recheck(mine))?.ending).toBe('environment_gone');
  });
});

describe('a look again', () => {
  it('reads nothing while the feed is live, and everything while it is lost', async () => {
    const mine = add();
    expect(await registry.recheck(mine)).toBeNull();
    await lose();
    expect((await registry.recheck(mine))?.ending).toBe('environment_gone');
    broken = true;
    await expect(registry.recheck(add())).rejects.toThrow('away');
  });
});

describe('a lost feed', () => {
  it('ends what is open after the grace, counted from when each was judged last', async () => {
    allow('env_1', ['a.test']);
    const early = add();
    await vi.advanceTimersByTimeAsync(60_000);
    await lose();
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1_000);
    const late = add();
    expect(early.stopped).toBeNull();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(early.stopped).toEqual({ refusal: 'facts_unavailable', ending: 'feed_lost' });
    expect(late.stopped).toBeNull();
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(late.stopped?.ending).toBe('feed_lost');
  });

  it('that comes back in time ends only what changed meanwhile', async () => {
    allow('env_1', ['a.test']);
    const [mine, gone] = [add(), add('env_2')];
    await lose();
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1_000);
    feed.live = true;
    feed.restored?.();
    await vi.advanceTimersByTimeAsync(GRACE_MS * 2);
    expect(mine.stopped).toBeNull();
    expect(gone.stopped?.ending).toBe('environment_gone');
  });
});

describe('a shutdown', () => {
  it('ends all, those that come later too; the first reason stands', async () => {
    const [first, second] = [add(), add()];
    await changed();
    registry.stopAll(STOP);
    expect(first.stopped?.ending).toBe('environment_gone');
    expect(second.stopped?.ending).toBe('environment_gone');
    expect(add().stopped).toEqual(STOP);
  });
});
