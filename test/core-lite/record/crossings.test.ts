/** A keyed call in the database: who may run it, who may write, what is kept, and what becomes of it when gates die. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Crossings } from '../../../core-lite/record/crossings.ts';
import { nameReplica } from '../../../core-lite/record/replica-name.ts';
import { takeLease } from '../../../core-lite/state/lease-store.ts';
import { endTurn } from '../../../core-lite/state/turn-store.ts';
import {
  type CrossingStand,
  completed,
  requestOf,
  startCrossingStand,
  type TestReplica,
} from '../../support/crossing-stand.ts';
import { WAITS_FOR_LOCK } from '../../support/waits-for-lock.ts';

let stand: CrossingStand;
let one: TestReplica;
let two: TestReplica;
beforeAll(async () => {
  stand = await startCrossingStand();
  one = await stand.replica();
  two = await stand.replica();
});
afterAll(() => stand?.close());

/** As if this much time had passed since everything. */
const age = (interval: string) =>
  stand.installation.owner.query(
    `UPDATE crossings SET claimed_at = claimed_at - $1::interval, settled_at = settled_at - $1::interval`,
    [interval],
  );

describe('a claim', () => {
  it('is won by one of many, on whatever replica', async () => {
    const caller = await stand.run();
    const askers = Array.from({ length: 20 }, (_, i) => (i % 2 ? one : two));
    const answers = await Promise.all(askers.map(({ crossings }) => crossings.claim(caller, requestOf())));
    const kinds = answers.map(({ answer }) => answer).toSorted();
    expect(kinds).toEqual(['mine', ...Array.from({ length: 19 }, () => 'running')]);
  });

  it('is refused to another request of the same key, at any time', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    const others = [
      requestOf({ request: Buffer.from('{"n":2}') }),
      requestOf({ tool: 'other' }),
      requestOf({ kind: 'mcp', server: 'post' }),
    ];
    for (const other of others) {
      expect(await two.crossings.claim(caller, other)).toEqual({ answer: 'conflict' });
    }
    await one.crossings.release(claim, 'http.unreachable');
    for (const other of others) {
      expect(await two.crossings.claim(caller, other)).toEqual({ answer: 'conflict' });
    }
  });

  it('of another session is another call', async () => {
    const [caller, stranger] = [await stand.run(), await stand.run()];
    const claim = await stand.claim(one, caller);
    await stand.claim(one, stranger);
    expect(await one.crossings.read(stranger.sessionId, claim.id)).toBe('again');
    expect(await one.crossings.cancel({ ...stranger, sessionId: caller.sessionId }, 'k')).toEqual({
      answer: 'run_stale',
      id: null,
      status: null,
    });
  });

  it('is not for a run that is over, nor for a replica that is', async () => {
    const caller = await stand.run();
    const stale = [
      { ...caller, leaseEpoch: caller.leaseEpoch - 1 },
      { ...caller, leaseEpoch: caller.leaseEpoch + 1 },
      { ...caller, turnId: (await stand.run()).turnId },
    ];
    for (const each of stale) {
      expect(await one.crossings.claim(each, requestOf())).toEqual({ answer: 'run_stale' });
    }
    const gone = await stand.replica();
    await gone.die();
    expect(await gone.crossings.claim(caller, requestOf())).toEqual({ answer: 'replica_dead' });
    await stand.installation.owner.transaction((tx) => endTurn(tx, caller.turnId, caller.leaseEpoch));
    expect(await one.crossings.claim(caller, requestOf())).toEqual({ answer: 'run_stale' });
  });
});

describe('a bump of the epoch', () => {
  it('that is about to commit is waited for, and nothing is claimed behind it', async () => {
    const caller = await stand.run();
    const asked: Promise<unknown>[] = [];
    await stand.installation.owner.transaction(async (tx) => {
      await takeLease(tx, caller.turnId, 'other');
      asked.push(one.crossings.claim(caller, requestOf()));
      await stand.installation.owner.query(WAITS_FOR_LOCK);
    });
    expect(await asked[0]).toEqual({ answer: 'run_stale' });
    const rows = await stand.installation.owner.query('SELECT id FROM crossings WHERE session_id = $1', [
      caller.sessionId,
    ]);
    expect(rows).toEqual([]);
  });
});

describe('a gate that lies', () => {
  it('can do nothing under the name of another', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    const thief = new Crossings(stand.gates, nameReplica(one.id), stand.installation.seals.gates);
    expect((await thief.claim(await stand.run(), requestOf())).answer).toBe('replica_dead');
    expect(await thief.send(claim)).toBe(false);
    await one.crossings.send(claim);
    expect(await thief.settle(claim, completed('{}'))).toBe(false);
    expect(await thief.release(claim, null)).toBe(false);
    await age('1 minute');
    await thief.tend([]);
    expect(await stand.row(caller)).toMatchObject({ state: 'sent', cancelled: false });
  });
});

describe('an outcome', () => {
  it('is the same for all who ask, and is not readable in the database', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    expect(await one.crossings.send(claim)).toBe(true);
    expect(await two.crossings.read(caller.sessionId, claim.id)).toBe('running');
    const outcome = completed('{"ok":true,"output":"canary-of-an-answer"}');
    expect(await one.crossings.settle(claim, outcome)).toBe(true);
    expect(await two.crossings.read(caller.sessionId, claim.id)).toEqual(outcome);
    expect(await two.crossings.claim(caller, requestOf())).toEqual({ answer: 'done', outcome });
    expect((await stand.row(caller)).outcome?.toString('latin1')).not.toContain('canary');
  });

  it('does not open for another row', async () => {
    const [caller, other] = [await stand.run(), await stand.run()];
    for (const each of [caller, other]) {
      const claim = await stand.claim(one, each);
      await one.crossings.send(claim);
      await one.crossings.settle(claim, completed(`{"of":"${each.sessionId}"}`));
    }
    await stand.installation.owner.query(
      `UPDATE crossings c SET outcome = o.outcome FROM crossings o WHERE c.session_id = $1 AND o.session_id = $2`,
      [caller.sessionId, other.sessionId],
    );
    await expect(one.crossings.claim(caller, requestOf())).rejects.toMatchObject({ code: 'seal_broken' });
  });

  it('is gone after a day, and the call never runs again', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    await one.crossings.send(claim);
    await one.crossings.settle(claim, completed('{}'));
    await age('23 hours 59 minutes');
    expect((await two.crossings.claim(caller, requestOf())).answer).toBe('done');
    await age('2 minutes');
    expect(await two.crossings.claim(caller, requestOf())).toEqual({ answer: 'expired' });
    await two.crossings.tend([]);
    expect((await stand.row(caller)).outcome).toBeNull();
    expect(await two.crossings.claim(caller, requestOf())).toEqual({ answer: 'expired' });
    expect((await two.crossings.claim(caller, requestOf({ tool: 'x' }))).answer).toBe('conflict');
  });
});

describe('the compare-and-set', () => {
  it('is won once, by the owner of this attempt alone', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    expect(await two.crossings.send(claim)).toBe(false);
    expect(await one.crossings.send({ ...claim, attempt: 2 })).toBe(false);
    expect(await one.crossings.send(claim)).toBe(true);
    expect(await one.crossings.send(claim)).toBe(false);
    expect(await two.crossings.settle(claim, completed('{}'))).toBe(false);
    expect(await two.crossings.release(claim, null)).toBe(false);
  });

  it('comes before any outcome but a cancel', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    expect(await one.crossings.settle(claim, completed('{}'))).toBe(false);
    const cancelled = { status: 'cancelled', code: 'tool.cancelled', body: '{}' } as const;
    expect(await one.crossings.settle(claim, cancelled)).toBe(true);
    expect(await one.crossings.send(claim)).toBe(false);
  });

  it('is lost by an owner that gave the claim back', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    expect(await one.crossings.release(claim, 'http.unreachable')).toBe(true);
    expect(await one.crossings.send(claim)).toBe(false);
    const next = await stand.claim(one, caller);
    expect(next).toEqual({ id: claim.id, attempt: 2 });
    expect(await one.crossings.send(claim)).toBe(false);
    expect(await one.crossings.send(next)).toBe(true);
  });
});

describe('an owner that died', () => {
  it('loses what it had not sent to whoever asks next, and wakes to no byte', async () => {
    const caller = await stand.run();
    const paused = await stand.replica();
    const claim = await stand.claim(paused, caller);
    await paused.die();
    expect(await one.crossings.read(caller.sessionId, claim.id)).toBe('again');
    const taken = await stand.claim(one, caller);
    expect(taken).toEqual({ id: claim.id, attempt: 2 });
    await paused.join();
    expect(await paused.crossings.send(claim)).toBe(false);
    expect(await paused.crossings.watch([claim])).toEqual(new Map([[claim.id, 'lost']]));
    expect(await one.crossings.send(taken)).toBe(true);
  });

  it('leaves what it had sent uncertain, settled once', async () => {
    const caller = await stand.run();
    const paused = await stand.replica();
    const claim = await stand.claim(paused, caller);
    await paused.crossings.send(claim);
    await paused.die();
    const answered = await one.crossings.claim(caller, requestOf());
    expect(answered).toMatchObject({ answer: 'done', outcome: { status: 'uncertain', code: 'http.lost' } });
    await paused.join();
    expect(await paused.crossings.settle(claim, completed('{}'))).toBe(false);
    expect(await two.crossings.claim(caller, requestOf())).toEqual(answered);
  });

  it('is buried by others though nobody asks', async () => {
    const [sent, unsent] = [await stand.run(), await stand.run()];
    const dead = await stand.replica();
    await dead.crossings.send(await stand.claim(dead, sent));
    await stand.claim(dead, unsent);
    await dead.die();
    await one.crossings.tend([]);
    expect(await stand.row(sent)).toMatchObject({ state: 'done', status: 'uncertain', code: 'http.lost' });
    expect(await stand.row(unsent)).toMatchObject({
      state: 'free',
      status: 'failed',
      code: 'tool.interrupted',
    });
  });

  it('goes on where nobody has asked, when it wakes', async () => {
    const caller = await stand.run();
    const paused = await stand.replica();
    const claim = await stand.claim(paused, caller);
    await paused.die();
    expect(await paused.crossings.send(claim)).toBe(false);
    await paused.join();
    expect(await paused.crossings.send(claim)).toBe(true);
  });
});

describe('a replica', () => {
  it('drops what it owns and does not know, after half a minute', async () => {
    const [known, unknown] = [await stand.run(), await stand.run()];
    const replica = await stand.replica();
    const claim = await stand.claim(replica, known);
    await stand.claim(replica, unknown);
    await replica.crossings.tend([claim.id]);
    expect((await stand.row(unknown)).state).toBe('claimed');
    await age('31 seconds');
    await one.crossings.tend([]);
    expect((await stand.row(unknown)).state).toBe('claimed');
    await replica.crossings.tend([claim.id]);
    expect((await stand.row(unknown)).state).toBe('free');
    expect((await stand.row(known)).state).toBe('claimed');
  });
});

describe('a cancel', () => {
  it('is seen by the owner, which may send nothing any more', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    expect(await one.crossings.watch([claim])).toEqual(new Map());
    expect(await two.crossings.cancel(caller, 'k')).toMatchObject({ answer: 'running', id: claim.id });
    expect(await one.crossings.watch([claim])).toEqual(new Map([[claim.id, 'cancelled']]));
    expect(await one.crossings.send(claim)).toBe(false);
    await one.crossings.release(claim, 'http.stopped');
    expect(await stand.row(caller)).toMatchObject({ state: 'done', status: 'cancelled' });
  });

  it('ends what nobody runs', async () => {
    const caller = await stand.run();
    await one.crossings.release(await stand.claim(one, caller), 'http.unreachable');
    expect(await two.crossings.cancel(caller, 'k')).toMatchObject({ answer: 'done', status: 'cancelled' });
    expect((await two.crossings.claim(caller, requestOf())).answer).toBe('done');
    expect(await two.crossings.cancel(caller, 'no-such')).toMatchObject({ answer: 'unknown' });
  });

  it('comes too late for what is done', async () => {
    const caller = await stand.run();
    const claim = await stand.claim(one, caller);
    await one.crossings.send(claim);
    await one.crossings.settle(claim, completed('{}'));
    expect(await two.crossings.cancel(caller, 'k')).toMatchObject({ answer: 'done', status: 'completed' });
  });

  it('of a turn or the end of a session ends its calls; the end of a turn and a lease do not', async () => {
    const { owner } = stand.installation;
    const watch = async (change: string): Promise<unknown> => {
      const caller = await stand.run();
      const claim = await stand.claim(one, caller);
      await owner.query(change, [change.includes('turns') ? caller.turnId : caller.sessionId]);
      return (await one.crossings.watch([claim])).get(claim.id) ?? null;
    };
    const end = (state: string): string =>
      `UPDATE turns SET state = '${state}', ended_at = now() WHERE id = $1`;
    expect(await watch(end('cancelled'))).toBe('cancelled');
    expect(await watch(end('ended'))).toBeNull();
    expect(await watch('UPDATE sessions SET lease_epoch = lease_epoch + 1 WHERE id = $1')).toBeNull();
    expect(await watch('UPDATE sessions SET ended_at = now() WHERE id = $1')).toBe('ended');
  });
});

describe('the gates’ own login', () => {
  it.each([
    'SELECT * FROM crossings',
    `UPDATE crossings SET state = 'free'`,
    'DELETE FROM crossings',
    `SELECT lose_crossings(ARRAY['x'])`,
    `SELECT is_replica('x', 'y')`,
    `SELECT is_running('x', 'y', 1)`,
  ])('may not %s', async (statement) => {
    await expect(stand.gates.query(statement)).rejects.toMatchObject({ code: 'database_rights' });
  });
});
