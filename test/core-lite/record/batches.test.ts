/** Group commit and write behind, without a database: what is written when, and what a failure costs whom. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../../../core-lite/errors.ts';
import { GroupCommit, QueueFull } from '../../../core-lite/record/group-commit.ts';
import { WriteBehind } from '../../../core-lite/record/write-behind.ts';

/** A writer that holds each batch until it is told how it went. */
class Writer {
  readonly batches: (readonly number[])[] = [];
  readonly #gates: PromiseWithResolvers<undefined>[] = [];

  write = (rows: readonly number[]): Promise<undefined> => {
    const gate = Promise.withResolvers<undefined>();
    this.batches.push(rows);
    this.#gates.push(gate);
    return gate.promise;
  };

  async commit(): Promise<void> {
    this.#gates.shift()?.resolve(undefined);
    await turn();
  }

  async fail(): Promise<void> {
    this.#gates.shift()?.reject(AWAY);
    await turn();
  }
}

const AWAY = new Fault('database_unreachable', 'away');

/** What is due in this turn of the event loop, and what that makes due in the next. */
async function turn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

describe('group commit', () => {
  const make = (maxBatch = 3, maxWaiting = 5) => {
    const writer = new Writer();
    return { writer, commit: new GroupCommit<number>({ write: writer.write, maxBatch, maxWaiting }) };
  };

  it('tells each row what came of it', async () => {
    const commit = new GroupCommit<number, string>({
      write: async (rows) => rows.map((row) => `${row}!`),
      maxBatch: 2,
      maxWaiting: 5,
    });
    expect(await Promise.all([1, 2, 3].map((row) => commit.add(row)))).toEqual(['1!', '2!', '3!']);
  });

  it('writes a single row at once', async () => {
    const { writer, commit } = make();
    const done = commit.add(1);
    await turn();
    expect(writer.batches).toEqual([[1]]);
    await writer.commit();
    await done;
  });

  it('has one batch in flight while the next fills', async () => {
    const { writer, commit } = make(10, 10);
    const first = commit.add(1);
    await turn();
    const rest = [2, 3, 4].map((row) => commit.add(row));
    await turn();
    expect(writer.batches).toEqual([[1]]);
    await writer.commit();
    expect(writer.batches).toEqual([[1], [2, 3, 4]]);
    await first;
    await writer.commit();
    await Promise.all(rest);
  });

  it('resolves a row only when its own batch is committed', async () => {
    const { writer, commit } = make(1, 10);
    const done: number[] = [];
    for (const row of [1, 2, 3]) void commit.add(row).then(() => done.push(row));
    await turn();
    expect(done).toEqual([]);
    await writer.commit();
    expect(done).toEqual([1]);
    await writer.commit();
    expect(done).toEqual([1, 2]);
    await writer.commit();
    expect(done).toEqual([1, 2, 3]);
  });

  it('keeps the order and the size of batches', async () => {
    const { writer, commit } = make(3, 10);
    for (let row = 1; row <= 7; row++) void commit.add(row);
    await turn();
    await writer.commit();
    await writer.commit();
    expect(writer.batches).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('rejects the rows of a batch that fails and no others', async () => {
    const { writer, commit } = make(2, 10);
    const outcomes = Promise.allSettled([1, 2, 3].map((row) => commit.add(row)));
    await turn();
    await writer.fail();
    await writer.commit();
    expect((await outcomes).map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    const after = commit.add(4);
    await turn();
    await writer.commit();
    await after;
  });

  it('outlives a writer that throws', async () => {
    const commit = new GroupCommit<number>({
      write: () => {
        throw new Error('at once');
      },
      maxBatch: 1,
      maxWaiting: 1,
    });
    await expect(commit.add(1)).rejects.toThrow('at once');
    await expect(commit.add(2)).rejects.toThrow('at once');
  });

  it('refuses what would wait too long at once, and takes rows again when there is room', async () => {
    const { writer, commit } = make(2, 2);
    const taken = [1, 2].map((row) => commit.add(row));
    await turn();
    taken.push(commit.add(3), commit.add(4));
    await expect(commit.add(5)).rejects.toBeInstanceOf(QueueFull);
    await writer.commit();
    taken.push(commit.add(6));
    await writer.commit();
    await writer.commit();
    await Promise.all(taken);
    expect(writer.batches.flat()).toEqual([1, 2, 3, 4, 6]);
  });

  it('drains when nothing waits any more', async () => {
    const { writer, commit } = make(1, 10);
    await commit.drain();
    void commit.add(1);
    void commit.add(2).catch(() => {});
    let drained = false;
    const draining = commit.drain().then(() => {
      drained = true;
    });
    await turn();
    await writer.commit();
    expect(drained).toBe(false);
    await writer.fail();
    await draining;
  });
});

describe('write behind', () => {
  /** Past the moment in which rows are gathered. */
  const gathered = () => vi.advanceTimersByTimeAsync(50);

  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  const make = (maxBatch = 3, maxHeld = 5) => {
    const writer = new Writer();
    return {
      writer,
      rows: new WriteBehind<number>({
        write: writer.write,
        maxBatch,
        maxHeld,
        retryMs: 1_000,
        onDrop: vi.fn(),
      }),
    };
  };

  it('writes in batches, in order', async () => {
    const { writer, rows } = make(2, 10);
    for (const row of [1, 2, 3, 4, 5]) rows.add(row);
    await gathered();
    await writer.commit();
    await writer.commit();
    await writer.commit();
    expect(writer.batches).toEqual([[1, 2], [3, 4], [5]]);
    expect(await rows.close()).toBe(0);
  });

  it('keeps what could not be written and tries again after a pause', async () => {
    const { writer, rows } = make();
    rows.add(1);
    await gathered();
    await writer.fail();
    rows.add(2);
    await vi.advanceTimersByTimeAsync(999);
    expect(writer.batches).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(writer.batches).toEqual([[1], [1, 2]]);
    await writer.commit();
    expect(await rows.close()).toBe(0);
  });

  it('flushes at once what is gathered, and tells when it is written', async () => {
    const { writer, rows } = make(2, 10);
    const places = [1, 2, 3].map((row) => rows.add(row));
    const done: number[] = [];
    for (const place of places) void rows.flush(place).then(() => done.push(place));
    await turn();
    expect([writer.batches, done]).toEqual([[[1, 2]], []]);
    const late = rows.flush(rows.add(4));
    await writer.commit();
    expect(done).toEqual([1, 2]);
    await writer.commit();
    await late;
    expect([writer.batches, done]).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
      [1, 2, 3],
    ]);
    expect(places.map((place) => rows.holds(place))).toEqual([false, false, false]);
    await rows.flush(3);
    expect(await rows.close()).toBe(0);
  });

  it('waits for no second try when it flushes', async () => {
    const { writer, rows } = make(1);
    const place = rows.add(1);
    const first = rows.flush(place);
    await turn();
    await writer.fail();
    await first;
    await rows.flush(place);
    expect([writer.batches, rows.holds(place)]).toEqual([[[1]], true]);
    await vi.advanceTimersByTimeAsync(1_000);
    await writer.commit();
    expect(rows.holds(place)).toBe(false);
    expect(await rows.close()).toBe(0);
  });

  it('is bounded: what does not fit is dropped and counted', async () => {
    const { writer, rows } = make(3, 4);
    for (let row = 1; row <= 6; row++) rows.add(row);
    expect(rows.dropped).toBe(2);
    await gathered();
    await writer.commit();
    rows.add(7);
    await writer.commit();
    await gathered();
    await writer.commit();
    expect(writer.batches.flat()).toEqual([1, 2, 3, 4, 7]);
    expect(await rows.close()).toBe(2);
  });

  it('closed while it is idle, is done', async () => {
    expect(await make().rows.close()).toBe(0);
  });

  it('closed while it waits for the next try, tries once more at once', async () => {
    const { writer, rows } = make();
    rows.add(1);
    await gathered();
    await writer.fail();
    const closing = rows.close();
    await turn();
    expect(writer.batches).toHaveLength(2);
    await writer.commit();
    expect(await closing).toBe(0);
  });

  it('closed while it writes, tries once more if that fails, and tells what is left', async () => {
    const { writer, rows } = make(1, 10);
    rows.add(1);
    rows.add(2);
    await gathered();
    const closing = rows.close();
    await writer.fail();
    await turn();
    await writer.fail();
    expect(await closing).toBe(2);
    expect(writer.batches).toEqual([[1], [1]]);
  });

  it('closed without a database does not wait for ever', async () => {
    const rows = new WriteBehind<number>({
      write: () => Promise.reject(AWAY),
      maxBatch: 1,
      maxHeld: 10,
      retryMs: 1_000,
      onDrop: vi.fn(),
    });
    rows.add(1);
    await gathered();
    expect(await rows.close()).toBe(1);
  });

  it('drops the one row that the database refuses, and writes the others', async () => {
    const written: number[] = [];
    const onDrop = vi.fn();
    const refused = Object.assign(new Error('invalid input'), { code: '22P02' });
    const rows = new WriteBehind<number>({
      write: async (batch) => {
        if (batch.includes(4)) throw refused;
        written.push(...batch);
      },
      maxBatch: 8,
      maxHeld: 10,
      retryMs: 1_000,
      onDrop,
    });
    for (let row = 1; row <= 6; row++) rows.add(row);
    await gathered();
    expect(written).toEqual([1, 2, 3, 5, 6]);
    expect(onDrop.mock.calls).toEqual([[refused]]);
    expect(await rows.close()).toBe(1);
  });
});
