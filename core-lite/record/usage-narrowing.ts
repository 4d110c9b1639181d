/** Which rows of the ledger are meant: the conditions that sums and lists of calls share. */
import type { Queryable } from '../database/pool.ts';

export interface UsageNarrowing {
  readonly session?: string;
  readonly turn?: string;
  readonly agent?: string;
  /** As it was asked for. */
  readonly model?: string;
  readonly provider?: string;
  readonly since?: Date;
  readonly until?: Date;
  /** Only rows older than this id: the next page. */
  readonly before?: string;
}

export interface Narrowed {
  /** `WHERE …`, or nothing. */
  readonly where: string;
  readonly values: readonly unknown[];
}

export async function narrowUsage(db: Queryable, narrowing: UsageNarrowing): Promise<Narrowed> {
  const session = narrowing.session ?? (await findSession(db, narrowing.turn));
  const given = CONDITIONS.flatMap(([name, condition]) => {
    const value = name === 'session' ? session : narrowing[name];
    return value === undefined ? [] : [{ condition, value }];
  });
  const conditions = given.map(({ condition }, place) => condition(`$${place + 1}`));
  return {
    where: conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '',
    values: given.map(({ value }) => value),
  };
}

/** The ledger has an index by session: a turn's rows are found by its session's. */
async function findSession(db: Queryable, turn: string | undefined): Promise<string | undefined> {
  if (turn === undefined) return undefined;
  const [row] = await db.query<{ session: string }>('SELECT session_id AS session FROM turns WHERE id = $1', [
    turn,
  ]);
  return row?.session;
}

const CONDITIONS: readonly (readonly [keyof UsageNarrowing, (parameter: string) => string])[] = [
  ['session', (p) => `session_id = ${p}`],
  ['turn', (p) => `turn_id = ${p}`],
  ['agent', (p) => `agent = ${p}`],
  ['model', (p) => `model = ${p}`],
  ['provider', (p) => `provider = ${p}`],
  ['since', (p) => `at >= ${p}`],
  ['until', (p) => `at < ${p}`],
  ['before', (p) => `id < ${p}`],
];
