/** `learn` from a real record: an environment that reports, through a real egress, until its policy can be enforced. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EnvironmentAnswer } from '../../cli/commands/env.ts';
import type { DeniedTarget, Lesson } from '../../cli/learn/show.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, freePort, type Origin, startOrigin } from '../support/origin.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

const HOSTS = ['a.x.test', 'b.x.test', 'one.test', 'private.test'];

let gate: TestGate;
let origin: Origin;
let name: string;
let serial = 0;
let rows = 0;

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  gate = await startGate({
    hosts: `127.0.0.1 ${HOSTS.join(' ')}\n`,
    open: `*.x.test=127.0.0.0/8,one.test=127.0.0.0/8`,
  });
});
beforeEach(() => {
  name = `env-${++serial}`;
});
afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

function type(line: string, around: Around = {}): Promise<Typed> {
  return sallyport(line.split(' '), { ...around, variables: settingsOf(gate.world, gate.egress) });
}

/** A CONNECT, whatever becomes of it. */
async function visit(target: string): Promise<number> {
  const client = await gate.connect(target, await gate.world.token(name));
  const { status } = await client.answer();
  client.close();
  return status;
}

const REPORTED = { verdict: 'reported', reason: 'reported', at: new Date() };

/** Rows of the record as a gate that reports writes them, of connections that are open still. */
async function record(targets: readonly string[], row: Partial<typeof REPORTED> = {}): Promise<void> {
  const { verdict, reason, at } = { ...REPORTED, at: new Date(), ...row };
  const { id } = await gate.world.call<{ id: string }>('GET', `/v1/environments/${name}`);
  for (const target of targets) {
    const [host, port] = target.split(':');
    const con = `con_${at.getTime().toString(16).padStart(12, '0')}7${String(++rows).padStart(19, '0')}`;
    await gate.owner.query(
      `INSERT INTO connections (id, at, environment_id, token_id, pod_uid, replica, source, host, port, verdict, reason)
       VALUES ($1, $2, $3, 'tok', 'none', 'rep', '127.0.0.1', $4, $5, $6, $7)`,
      [con, at, id, host, Number(port ?? 443), verdict, reason],
    );
  }
}

const learnt = async (line = ''): Promise<Lesson> =>
  (await type(`learn --env ${name} --json ${line}`.trim())).json<Lesson>();
const list = ({ entries }: Lesson): string[] => entries.map(({ pattern }) => pattern);
const reasons = ({ denied }: Lesson): string[] =>
  denied.map(({ target, reason, recorded }: DeniedTarget) => `${target} ${reason} was ${recorded}`);

describe('report mode', () => {
  it('lets only the denial of the allowlist through: port, address and literal hold', async () => {
    await type(`env put ${name} --mode report`);
    const port = await freePort();
    expect(await visit('a.x.test:80')).toBe(502);
    expect(await visit(`a.x.test:${port}`)).toBe(403);
    expect(await visit('127.0.0.1:443')).toBe(403);
    expect(await visit('private.test:443')).toBe(403);
    const client = await gate.connect('a.x.test:443', 'no-token');
    expect((await client.answer()).status).toBe(407);
    client.close();
    const ended = async () => (await gate.rows(`&environment=${name}`)).filter(({ end }) => end).length;
    await expect.poll(ended).toBe(2);
    const recorded = await gate.rows(`&environment=${name}`);
    expect(recorded.map(({ host, reason }) => `${host} ${reason}`).toReversed()).toEqual([
      'a.x.test connect_failed',
      'a.x.test port_denied',
      '127.0.0.1 ip_literal',
      'private.test address_refused',
    ]);
    // What was let through and failed is not learnt, and is said.
    const lesson = await learnt();
    expect(list(lesson)).toEqual([]);
    expect(new Set(reasons(lesson))).toEqual(
      new Set([
        '127.0.0.1:443 ip_literal was ip_literal',
        'a.x.test:80 host_denied was connect_failed',
        `a.x.test:${port} port_denied was port_denied`,
        'private.test:443 host_denied was address_refused',
      ]),
    );
    // Judged anew by the same policy, the log comes out as it is.
    expect((await type(`learn --env ${name} --replay --json`)).json()).toMatchObject({
      same: 4,
      changes: [],
    });
  });

  it('holds its limits', async () => {
    await type(`env put ${name} --mode report --max-connections 0`);
    expect(await visit('a.x.test:443')).toBe(429);
    await type(`env put ${name} --mode report --new-per-second 0`);
    expect(await visit('a.x.test:443')).toBe(429);
  });

  it('learns what was reached, and enforces it', async () => {
    const target = `one.test:${origin.port}`;
    await type(`env put ${name} --mode report --allow ${target}`);
    expect(await visit(target)).toBe(200);
    await record(['a.x.test', 'b.x.test', 'a.x.test:80']);
    const applied = await type(`learn --env ${name} --apply --mode enforce`);
    expect(applied).toMatchObject({ status: 0, err: [] });
    expect(applied.out.map((line) => line.replaceAll(/ +/g, ' ').split(' ').slice(0, 3).join(' '))).toEqual([
      'PATTERN COUNT HOSTS',
      'a.x.test 2 1',
      'b.x.test 1 1',
      `applied: ${name} allows`,
    ]);
    const { allow, mode } = (await type(`env get ${name} --json`)).json<EnvironmentAnswer>();
    expect([allow, mode]).toEqual([[target, 'a.x.test', 'b.x.test'], 'enforce']);
    expect(await visit(target)).toBe(200);
    expect(await visit('one.test:443')).toBe(403);
    // A report log judged anew by the list that was learnt from it: all of it would pass.
    const replay = (await type(`learn --env ${name} --replay --json`)).json<{
      changes: { now: { verdict: string } }[];
    }>();
    expect(replay.changes.map(({ now }) => now.verdict)).toEqual(['allowed', 'allowed', 'allowed']);
  });
});

describe('learn', () => {
  beforeEach(async () => {
    await type(`env put ${name} --mode report --allow kept.test --max-connections 7`);
    await record(['a.x.test', 'b.x.test', 'c.x.test:80']);
    await record(['kept.test', 'old.test:22'], { verdict: 'allowed', reason: 'allowlisted' });
    await record(['old.test'], { at: new Date(Date.now() - 2 * 86_400_000) });
  });

  it('prints what was reported in the time that was asked for', async () => {
    expect(list(await learnt())).toEqual(['a.x.test', 'b.x.test', 'c.x.test']);
    expect(list(await learnt('--since 3d'))).toEqual(['a.x.test', 'b.x.test', 'c.x.test', 'old.test']);
    expect(list(await learnt('--suffix 3'))).toEqual(['*.x.test']);
    expect(list(await learnt('--suffix 4'))).toEqual(['a.x.test', 'b.x.test', 'c.x.test']);
  });

  it('adds with --apply, keeps the rest, and has nothing left to say', async () => {
    await type(`learn --env ${name} --suffix 3 --apply`);
    const { allow, mode, maxConnections } = (await type(`env get ${name} --json`)).json<EnvironmentAnswer>();
    expect([allow, mode, maxConnections]).toEqual([['kept.test', '*.x.test'], 'report', 7]);
    const again = await type(`learn --env ${name}`);
    expect(again.out[0]).toMatch(/^nothing that env-\d+ used since .* is missing$/);
  });

  it('says with --all what a list from nothing would be', async () => {
    const lesson = await learnt('--all');
    expect(lesson.allow).toEqual(['a.x.test', 'b.x.test', 'c.x.test', 'kept.test', 'old.test:22']);
    expect(reasons(lesson)).toEqual([]);
  });

  it('says with --replay what the policy of today changes', async () => {
    const before = (await type(`learn --env ${name} --replay`)).out;
    expect(before.at(-1)).toBe('4 connections would be judged as they were, 1 otherwise');
    expect(before[1]).toMatch(/^old\.test:22 +allowed allowlisted +denied port_denied +1 /);
    await type(`env put ${name} --allow a.x.test`);
    const changed = (await type(`learn --env ${name} --replay --json`)).json<{
      same: number;
      changes: { target: string; was: object; now: object }[];
    }>();
    expect(changed.same).toBe(0);
    expect(changed.changes).toHaveLength(5);
    expect(changed.changes[0]).toMatchObject({
      target: 'a.x.test:443',
      was: { verdict: 'reported', reason: 'reported' },
      now: { verdict: 'allowed', reason: 'allowlisted' },
    });
  });

  it.each([
    ['without an environment', 'learn'],
    ['--suffix of one', 'learn --env x --suffix 1'],
    ['--mode alone', 'learn --env x --mode enforce'],
    ['--all and --apply', 'learn --env x --all --apply'],
    ['--replay and --suffix', 'learn --env x --replay --suffix 2'],
    ['no time', 'learn --env x --since yesterday'],
  ])('%s is typed wrongly', async (_name, line) => {
    expect(await type(line)).toMatchObject({ status: 2, out: [] });
  });

  it('knows only environments that are there', async () => {
    const { status, err } = await type('learn --env nowhere');
    expect([status, err]).toEqual([1, [expect.stringContaining('there is no environment nowhere')]]);
  });
});
