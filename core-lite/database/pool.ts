/**
 * The way to PostgreSQL. Every connection of a pool acts under one role with least rights: either the URL logs in as
 * that role, or (given an owner's URL, as `npm start` is) the connection starts with `SET ROLE`. A connection that
 * cannot take its role is refused by the server, so nothing ever runs with more rights than its service has.
 */
import pg from 'pg';
import { Fault, type FaultCode, isFault } from '../errors.ts';
import type { Secret } from '../secret.ts';

export type Role = 'sallyport_core' | 'sallyport_gates' | 'sallyport_egress';

/** Something that runs a statement: the pool, or one transaction on it. */
export interface Queryable {
  /** Resolves to the rows. Rejects with Fault `database_unreachable`, or pg's DatabaseError. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Connections at most; default 10. */
  readonly max?: number;
  /** How long one statement may take, milliseconds; default 5,000, 0 is no limit (migrations). */
  readonly queryTimeoutMs?: number;
}

/** @param role `null` acts as whoever the URL logs in as (migrations) */
export function openDatabase(url: Secret, role: Role | null, options: PoolOptions = {}): Database {
  const pool = new pg.Pool({
    ...connectionOptions(url, role),
    max: options.max ?? 10,
    query_timeout: options.queryTimeoutMs ?? QUERY_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
  });
  // An idle connection that breaks is replaced by the next query; without a listener the process would end.
  pool.on('error', () => {});
  return {
    query: (text, values) => run(pool, text, values),
    transaction: (work) => runTransaction(pool, work),
    close: () => pool.end(),
  };
}

/** What `pg` needs to connect, for pools and for the change feed's own connection. */
export function connectionOptions(url: Secret, role: Role | null): pg.ClientConfig {
  const { connectionString, login, options } = splitUrl(url.reveal());
  if (role && login !== role) options.push(`-c role=${role}`);
  return {
    connectionString,
    application_name: role ?? 'sallyport',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(options.length > 0 ? { options: options.join(' ') } : {}),
  };
}

/** pg prefers what a URL says to what it is told beside it: a URL with `options` of its own would take no role. */
function splitUrl(text: string): { connectionString: string; login: string; options: string[] } {
  const url = URL.parse(text);
  if (!url) return { connectionString: text, login: '', options: [] };
  const login = url.searchParams.get('user') || decodeURIComponent(url.username);
  const options = url.searchParams.getAll('options').slice(-1);
  url.searchParams.delete('options');
  return { connectionString: options.length > 0 ? url.href : text, login, options };
}

/** Turns what pg throws into a Fault where the database could not be reached or the role not be taken. */
function translateDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  const known = KNOWN_STATES[String(code)];
  if (known) return new Fault(...known, error);
  if (CONFLICT_STATES.test(String(code))) {
    return new Fault('conflict', 'another change at the same time came first', error);
  }
  if (UNFIT_STATES.test(String(code))) {
    return new Fault('input_invalid', 'a text has characters that the database cannot hold', error);
  }
  if (error instanceof pg.DatabaseError && !UNREACHABLE_STATES.test(String(code))) return error;
  return new Fault('database_unreachable', 'the database cannot be reached', error);
}

async function run<Row>(
  on: pg.Pool | pg.PoolClient,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  try {
    const result = await on.query(text, values ? [...values] : undefined);
    return result.rows as Row[];
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

async function runTransaction<T>(pool: pg.Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translateDatabaseError(error);
  });
  const tx: Queryable = { query: (text, values) => run(client, text, values) };
  try {
    await tx.query('BEGIN');
    const result = await work(tx);
    await tx.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // A connection whose rollback fails is not given back: it may hold the transaction open. One that does not answer
    // is not asked: the caller would wait for a second time limit.
    if (isFault(error, 'database_unreachable')) client.release(true);
    else
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      );
    throw error;
  }
}

const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 5_000;
/** SQLSTATE: connection exceptions, shutdown in progress, starting up, too many connections, read-only standby. */
const UNREACHABLE_STATES = /^(08...|57P0[1-5]|53300|25006)$/;
/** SQLSTATE: a unique or foreign key that another transaction broke, serialization failure, deadlock. */
const CONFLICT_STATES = /^(23503|23505|40001|40P01)$/;
/** SQLSTATE: a NUL, or in JSON half a character. */
const UNFIT_STATES = /^(22021|22P02|22P05)$/;
const KNOWN_STATES: Readonly<Record<string, readonly [FaultCode, string]>> = {
  '42501': ['database_rights', 'the database login may not do this'],
  // A role that is not there yet cannot be taken: it is made by the migration.
  '22023': ['database_not_migrated', 'the database server has not the role of this service yet'],
  '28000': ['database_unreachable', 'the database refuses the user'],
  '28P01': ['database_unreachable', 'the database refuses the user or password'],
  '3D000': ['database_unreachable', 'there is no database of that name'],
};
