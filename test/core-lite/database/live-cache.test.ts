import { describe, expect, it } from 'vitest';
import type { Change, ChangeFeed, FeedListener } from '../../../core-lite/database/changes.ts';
import { LiveCache } from '../../../core-lite/database/live-cache.ts';
import { Random } from '../../support/random.ts';

describe('while the feed is live', () => {
  it('a value is read once and then held', async () => {
    const { cache, source } = make();
    expect(await cache.read('a')).toBe('a0');
    expect(await cache.read('a')).toBe('a0');
    expect(cache.peek('a')).toBe('a0');
    expect(source.loads).toEqual(['a']);
  });

  it('that there is nothing is held too', async () => {
    const { cache, source } = make();
    source.values.set('a', null);
    expect(await cache.read('a')).toBeNull();
    expect(await cache.read('a')).toBeNull();
    expect(source.loads).toEqual(['a']);
  });

  it('a notice discards its key and no other', async () => {
    const { cache, feed } = make();
    await Promise.all([cache.read('a'), cache.read('b')]);
    feed.change('a');
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, 'b0']);
  });

  it('a notice may discard all, or nothing', async () => {
    const { cache, feed } = make();
    await Promise.all([cache.read('a'), cache.read('b')]);
    feed.change('nothing');
    expect([cache.peek('a'), cache.peek('b')]).toEqual(['a0', 'b0']);
    feed.change('all');
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, undefined]);
  });

  it('reads of one key at one time are one read of the database', async () => {
    const { cache, source } = make();
    const held = source.hold('a');
    const reads = [cache.read('a'), cache.read('a'), cache.read('a')];
    held.release();
    expect(await Promise.all(reads)).toEqual(['a0', 'a0', 'a0']);
    expect(source.loads).toEqual(['a']);
  });

  it('a failure is told to all who wait and is not held', async () => {
    const { cache, source } = make();
    const held = source.hold('a');
    const reads = [cache.read('a'), cache.read('a')];
    held.fail(new Error('away'));
    expect((await Promise.allSettled(reads)).map((read) => read.status)).toEqual(['rejected', 'rejected']);
    expect(await cache.read('a')).toBe('a0');
    expect(source.loads).toEqual(['a', 'a']);
  });

  it('a doubted value is read again, and doubts of a flood are not', async () => {
    const { cache, source } = make();
    await Promise.all([cache.read('a'), cache.read('b')]);
    source.values.set('a', 'new');
    expect(cache.doubt('a')).toBe(true);
    expect(await cache.read('a')).toBe('new');
    expect(cache.doubt('b')).toBe(false);
    expect(cache.peek('b')).toBe('b0');
    expect(source.loads).toEqual(['a', 'b', 'a']);
  });

  it('no more keys are held than its bound; the one filled first goes', async () => {
    const { cache } = make(3);
    for (const key of ['a', 'b', 'c', 'd', 'e']) await cache.read(key);
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => cache.peek(key))).toEqual([
      undefined,
      undefined,
      'c0',
      'd0',
      'e0',
    ]);
  });
});

describe('a fill that races a change', () => {
  it('does not bring the old value back', async () => {
    const { cache, feed, source } = make();
    const held = source.hold('a');
    const raced = cache.read('a');
    source.values.set('a', null);
    feed.change('a');
    held.release();
    expect(await raced).toBe('a0');
    expect(cache.peek('a')).toBeUndefined();
    expect(await cache.read('a')).toBeNull();
  });

  it('is not joined by a read that begins after the notice', async () => {
    const { cache, feed, source } = make();
    const held = source.hold('a');
    const raced = cache.read('a');
    source.values.set('a', 'a1');
    feed.change('a');
    expect(await cache.read('a')).toBe('a1');
    held.release();
    await raced;
    expect(cache.peek('a')).toBe('a1');
  });

  it('is kept where the notice is of another key', async () => {
    const { cache, feed, source } = make();
    const held = source.hold('a');
    const read = cache.read('a');
    feed.change('b');
    held.release();
    await read;
    expect(cache.peek('a')).toBe('a0');
  });

  it.each<[name: string, happens: (feed: TestFeed) => void]>([
    ['a loss', (feed) => feed.lose()],
    [
      'a loss and its end',
      (feed) => {
        feed.lose();
        feed.restore();
      },
    ],
    ['everything changed', (feed) => feed.change('all')],
  ])('is not kept across %s', async (_, happens) => {
    const { cache, feed, source } = make();
    const held = source.hold('a');
    const read = cache.read('a');
    happens(feed);
    held.release();
    await read;
    feed.restore();
    expect(cache.peek('a')).toBeUndefined();
  });

  it('that began while the feed was lost is not kept after its end', async () => {
    const { cache, feed, source } = make();
    feed.lose();
    const held = source.hold('a');
    const read = cache.read('a');
    feed.restore();
    held.release();
    await read;
    expect(cache.peek('a')).toBeUndefined();
  });
});

describe('while the feed is lost', () => {
  it('nothing is answered from memory and every read goes to the database', async () => {
    const { cache, feed, source } = make();
    await cache.read('a');
    feed.lose();
    source.values.set('a', 'a1');
    expect(cache.peek('a')).toBeUndefined();
    expect([await cache.read('a'), await cache.read('a')]).toEqual(['a1', 'a1']);
    expect(source.loads).toEqual(['a', 'a', 'a']);
  });

  it('a read does not join one that began before it', async () => {
    const { cache, feed, source } = make();
    feed.lose();
    const held = source.hold('a');
    const first = cache.read('a');
    source.values.set('a', 'a1');
    expect(await cache.read('a')).toBe('a1');
    held.release();
    expect(await first).toBe('a0');
  });

  it('what was held before is gone when it is live again', async () => {
    const { cache, feed } = make();
    await cache.read('a');
    feed.lose();
    feed.restore();
    expect(cache.peek('a')).toBeUndefined();
  });
});

it('never holds what a notice has discarded, in whatever order things happen', async () => {
  for (let seed = 1; seed <= 300; seed++) await playSchedule(seed);
});

/** Commits, notices, reads, losses in random order; what is held is never older than the last notice or loss. */
async function playSchedule(seed: number): Promise<void> {
  const random = new Random(seed);
  const world = new Schedule();
  for (let step = 0; step < 80; step++) {
    await world.moves[random.below(world.moves.length)]?.(KEYS[random.below(KEYS.length)] ?? 'a', random);
    for (const key of KEYS) {
      const value = world.cache.peek(key);
      const least = world.feed.live ? (world.known.get(key) ?? 0) : Number.POSITIVE_INFINITY;
      const version = value === undefined ? Number.POSITIVE_INFINITY : Number(String(value).slice(1));
      if (version < least)
        expect.fail(`seed ${seed}, step ${step}: ${key} is held at ${version}, known at ${least}`);
    }
  }
  for (const { release } of world.held) release();
  await Promise.all(world.reads);
}

class Schedule {
  readonly cache: LiveCache<string | null>;
  readonly feed: TestFeed;
  readonly source: Source;
  readonly committed = new Map<string, number>();
  /** The versions that a notice, or the end of a loss, has told of. */
  readonly known = new Map<string, number>();
  readonly notices: { readonly key: string; readonly version: number }[] = [];
  readonly held: { release: () => void }[] = [];
  readonly reads: Promise<unknown>[] = [];

  constructor() {
    ({ cache: this.cache, feed: this.feed, source: this.source } = make(3));
  }

  readonly moves: readonly ((key: string, random: Random) => unknown)[] = [
    (key) => this.commit(key),
    () => this.notice(),
    (key) => this.held.push(this.source.hold(key)) && this.reads.push(this.cache.read(key)),
    (_, random) => this.held.splice(random.below(this.held.length + 1), 1)[0]?.release() ?? settle(),
    () => settle(),
    (key) => this.reads.push(this.cache.read(key)),
    (_, random) => random.below(4) === 0 && this.lose(),
    () => this.restore(),
  ];

  commit(key: string): void {
    const version = (this.committed.get(key) ?? 0) + 1;
    this.committed.set(key, version);
    this.source.values.set(key, `${key}${version}`);
    if (this.feed.live) this.notices.push({ key, version });
  }

  notice(): void {
    const notice = this.notices.shift();
    if (!notice) return;
    this.known.set(notice.key, notice.version);
    this.feed.change(notice.key);
  }

  lose(): void {
    this.notices.length = 0;
    this.feed.lose();
  }

  restore(): void {
    if (this.feed.live) return;
    for (const [key, version] of this.committed) this.known.set(key, version);
    this.feed.restore();
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

interface Held {
  release(): void;
  fail(error: Error): void;
}

/** A database whose answers can be held back: an answer is what was true when it was asked. */
class Source {
  readonly values = new Map<string, string | null>();
  readonly loads: string[] = [];
  #next: { key: string; gate: PromiseWithResolvers<void> }[] = [];

  /** The next read of `key` is answered only when it is released. */
  hold(key: string): Held {
    const gate = Promise.withResolvers<void>();
    gate.promise.catch(() => {});
    this.#next.push({ key, gate });
    return { release: () => gate.resolve(), fail: (error) => gate.reject(error) };
  }

  async load(key: string): Promise<string | null> {
    this.loads.push(key);
    const value = this.values.has(key) ? (this.values.get(key) ?? null) : `${key}0`;
    const place = this.#next.findIndex((each) => each.key === key);
    await this.#next.splice(place, place < 0 ? 0 : 1)[0]?.gate.promise;
    return value;
  }
}

/** The feed as a test drives it. */
class TestFeed {
  live = true;
  readonly #listeners: FeedListener[] = [];

  subscribe(listener: FeedListener): void {
    this.#listeners.push(listener);
  }

  change(id: string): void {
    for (const listener of this.#listeners) listener.change?.({ kind: 'environment', id });
  }

  lose(): void {
    if (!this.live) return;
    this.live = false;
    for (const listener of this.#listeners) listener.lost?.();
  }

  restore(): void {
    if (this.live) return;
    this.live = true;
    for (const listener of this.#listeners) listener.restored?.();
  }
}

function make(maxKeys = 100): { cache: LiveCache<string | null>; feed: TestFeed; source: Source } {
  const feed = new TestFeed();
  const source = new Source();
  // The cache asks a feed for `live` and `subscribe` only.
  const cache = new LiveCache<string | null>(feed as unknown as ChangeFeed, {
    staleKeys: ({ id }: Change) => (id === 'nothing' ? null : id),
    load: (key) => source.load(key),
    maxKeys,
  });
  return { cache, feed, source };
}

const KEYS = ['a', 'b', 'c', 'd'];
