/** What the gates read of a session, each under its own role, and what they are told when it changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Change, ChangeFeed } from '../../../core-lite/database/changes.ts';
import { type Database, openDatabase, type Role } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { hearLease, takeLease } from '../../../core-lite/state/lease-store.ts';
import { parseManifest } from '../../../core-lite/state/manifest/manifest.ts';
import { loadSessionFacts, loadTurnFacts } from '../../../core-lite/state/session.ts';
import { endSession, openSession, type SessionInput } from '../../../core-lite/state/session-store.ts';
import { cancelTurn, endTurn, startTurn } from '../../../core-lite/state/turn-store.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let core: Database;
let gates: Database;
let egress: Database;

beforeAll(async () => {
  world = await startWorld();
  const as = (role: Role) => openDatabase(new Secret(world.databaseUrl), role);
  [core, gates, egress] = [as('sallyport_core'), as('sallyport_gates'), as('sallyport_egress')];
});
afterAll(async () => {
  for (const database of [core, gates, egress]) await database?.close();
  await world?.close();
});

const MANIFEST = parseManifest({
  models: ['fixture/echo'],
  httpTools: { look: { url: 'https://a.example/', method: 'GET', inputSchema: {} } },
});
const INPUT: SessionInput = { agent: 'coder', environment: null, user: 'u-1', manifest: MANIFEST };
const open = () => core.transaction((tx) => openSession(tx, INPUT));
const start = (session: string) => core.transaction((tx) => startTurn(tx, session));

describe('facts', () => {
  it('are null for a session that is not there', async () => {
    expect(await loadSessionFacts(gates, makeId('ses'))).toBeNull();
    expect(await loadTurnFacts(egress, makeId('ses'))).toBeNull();
  });

  it('follow the session through its life, for gates and for egress', async () => {
    const { id } = await open();
    const common = {
      id,
      environmentId: null,
      leaseEpoch: 0,
      activeTurn: null as string | null,
      ended: false,
    };
    const expectFacts = async (changes: Partial<typeof common>) => {
      const facts = { ...common, ...changes };
      expect(await loadTurnFacts(egress, id)).toEqual(facts);
      expect(await loadSessionFacts(gates, id)).toEqual({
        ...facts,
        agent: 'coder',
        user: 'u-1',
        manifest: MANIFEST,
      });
    };
    await expectFacts({});
    const first = await start(id);
    await expectFacts({ activeTurn: first.id });
    await core.transaction((tx) => takeLease(tx, first.id, 'here'));
    await expectFacts({ activeTurn: first.id, leaseEpoch: 1 });
    await core.transaction((tx) => cancelTurn(tx, first.id));
    await expectFacts({ leaseEpoch: 1 });
    const second = await start(id);
    await expectFacts({ activeTurn: second.id, leaseEpoch: 1 });
    await core.transaction((tx) => endSession(tx, id));
    await expectFacts({ leaseEpoch: 1, ended: true });
  });
});

describe('rights', () => {
  it.each<[role: string, statement: string]>([
    ['egress', 'SELECT manifest FROM sessions'],
    ['egress', 'SELECT agent FROM sessions'],
    ['egress', 'SELECT owner_user FROM sessions'],
    ['egress', 'SELECT started_at FROM turns'],
    ['egress', 'SELECT * FROM leases'],
    ['egress', 'UPDATE sessions SET lease_epoch = 9'],
    ['gates', 'SELECT * FROM leases'],
    ['gates', 'UPDATE sessions SET lease_epoch = 9'],
    ['gates', `UPDATE turns SET state = 'ended', ended_at = now()`],
    ['core', `UPDATE sessions SET manifest = '{}'`],
    ['core', `UPDATE sessions SET agent = 'x'`],
    ['core', 'UPDATE turns SET session_id = id'],
    ['core', 'UPDATE leases SET epoch = 9'],
    ['core', 'DELETE FROM sessions'],
    ['core', 'DELETE FROM turns'],
    ['core', 'DELETE FROM leases'],
  ])('%s is refused: %s', async (role, statement) => {
    const database = { core, gates, egress }[role];
    await expect(database?.query(statement)).rejects.toMatchObject({ code: 'database_rights' });
  });
});

describe('the database itself', () => {
  it('lets a session have one active turn', async () => {
    const { id } = await open();
    await start(id);
    const second = core.query('INSERT INTO turns (id, session_id) VALUES ($1, $2)', [makeId('trn'), id]);
    await expect(second).rejects.toThrow();
  });
});

describe('a notice', () => {
  let heard: Change[];
  let feed: ChangeFeed;

  beforeAll(async () => {
    heard = [];
    feed = new ChangeFeed(new Secret(world.databaseUrl), 'sallyport_gates', 'facts_test');
    const live = new Promise<void>((resolve) => feed.subscribe({ restored: resolve }));
    feed.subscribe({ change: (change) => heard.push(change) });
    feed.start();
    await live;
  });
  afterAll(() => feed?.close());

  it('comes for each change of a session and its turns, and for no heartbeat', async () => {
    const steps: [what: string, told: boolean, work: () => Promise<unknown>][] = [];
    const { id } = await open();
    await settle(id);
    let turn = '';
    steps.push(
      ['turn start', true, async () => (turn = (await start(id)).id)],
      ['lease', true, () => core.transaction((tx) => takeLease(tx, turn, 'here'))],
      ['heartbeat', false, () => core.transaction((tx) => hearLease(tx, turn, 1))],
      ['turn end', true, () => core.transaction((tx) => endTurn(tx, turn, 1))],
      ['another turn', true, async () => (turn = (await start(id)).id)],
      ['cancel', true, () => core.transaction((tx) => cancelTurn(tx, turn))],
      ['a second cancel', false, () => core.transaction((tx) => cancelTurn(tx, turn))],
      ['session end', true, () => core.transaction((tx) => endSession(tx, id))],
      ['a second session end', false, () => core.transaction((tx) => endSession(tx, id))],
    );
    for (const [what, told, work] of steps) {
      await work();
      expect({ what, told: await settle(id) }).toEqual({ what, told });
    }
  });

  /** Notices come in commit order: once a mark's has come, all before it have. @returns whether the session's did */
  async function settle(session: string): Promise<boolean> {
    const mark = makeId('ses');
    await core.query(`SELECT pg_notify('sallyport_changes', $1)`, [`session ${mark}`]);
    await expect.poll(() => heard.some(({ id }) => id === mark)).toBe(true);
    return heard.splice(0).some(({ kind, id }) => kind === 'session' && id === session);
  }
});
