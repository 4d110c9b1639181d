/**
 * Migrations: plain SQL files, run in order in one transaction under an advisory lock, so that two programs that start
 * together do not meet. Each file states the oldest program that may run on the database after it.
 */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import Postgrator from 'postgrator';
import { Fault } from '../errors.ts';
import { compareVersions, VERSION } from '../version.ts';
import type { Database, Queryable } from './pool.ts';
import { ensureRoles } from './roles.ts';

/** What a migration file is, as far as this program knows them. */
interface MigrationFile {
  readonly version: number;
  readonly oldestProgram: string;
}

/**
 * Brings the database to this program's schema; does nothing if it is there, or further.
 * Needs the owner's login. Rejects with Fault `database_too_new` where this program may not run on it any more.
 * @returns the names of the migrations that were applied now
 */
export async function migrate(database: Database): Promise<string[]> {
  return database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK_KEY]);
    await ensureRoles(tx);
    if (await hasTable(tx, 'program_requirement')) await refuseTooNew(tx);
    const applied = await runMigrations(tx);
    const files = await listMigrations();
    if (applied.length > 0) await stateRequirement(tx, files);
    return applied;
  });
}

/**
 * What every service checks before it serves.
 * Rejects with Fault `database_too_new` or `database_not_migrated`.
 */
export async function checkSchema(db: Queryable): Promise<void> {
  const [tables] = await db.query<{ there: boolean }>(
    `SELECT to_regclass('public.program_requirement') IS NOT NULL AS there`,
  );
  if (!tables?.there) throw new Fault('database_not_migrated', 'the database has no Sallyport schema yet');
  await refuseTooNew(db);
  const [row] = await db.query<{ version: string }>('SELECT max(version) AS version FROM schemaversion');
  const newest = Math.max(...(await listMigrations()).map((file) => file.version));
  if (Number(row?.version ?? 0) < newest) {
    throw new Fault(
      'database_not_migrated',
      `the database is at schema ${row?.version}, this program needs ${newest}`,
    );
  }
}

async function refuseTooNew(db: Queryable): Promise<void> {
  const [row] = await db.query<{ oldest_program: string }>('SELECT oldest_program FROM program_requirement');
  if (row && compareVersions(VERSION, row.oldest_program) < 0) {
    throw new Fault(
      'database_too_new',
      `the database needs Sallyport ${row.oldest_program} or newer, this is ${VERSION}`,
    );
  }
}

async function runMigrations(tx: Queryable): Promise<string[]> {
  const postgrator = new Postgrator({
    driver: 'pg',
    // Not `database`: postgrator would look for its table in a database of that name only.
    currentSchema: 'public',
    migrationPattern: `${escapeGlob(fileURLToPath(MIGRATIONS))}*.sql`,
    schemaTable: 'schemaversion',
    validateChecksums: true,
    execQuery: async (query: string) => ({ rows: await tx.query(query) }),
  });
  // A database that a newer program migrated stays as it is: this program may run on it (see refuseTooNew).
  const newest = Math.max(...(await listMigrations()).map((file) => file.version));
  const current = (await hasTable(tx, 'schemaversion')) ? await postgrator.getDatabaseVersion() : 0;
  if (current >= newest) return [];
  const applied = await postgrator.migrate(String(newest));
  return applied.map((migration) => `${migration.version} ${migration.name}`);
}

async function stateRequirement(tx: Queryable, files: readonly MigrationFile[]): Promise<void> {
  const oldest = files
    .map((file) => file.oldestProgram)
    .sort(compareVersions)
    .at(-1);
  await tx.query('DELETE FROM program_requirement');
  await tx.query('INSERT INTO program_requirement (oldest_program) VALUES ($1)', [oldest]);
}

async function listMigrations(): Promise<MigrationFile[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql'));
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, MIGRATIONS), 'utf8');
      const oldestProgram = /^-- oldest-program: (\d+\.\d+\.\d+)$/m.exec(text)?.[1];
      if (!oldestProgram) throw new Error(`${name} does not state its oldest program`);
      return { version: Number.parseInt(name, 10), oldestProgram };
    }),
  );
}

async function hasTable(db: Queryable, name: string): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `public.${name}`,
  ]);
  return row?.there ?? false;
}

/** A clone may lie under a folder whose name means something to a glob. */
function escapeGlob(path: string): string {
  return path.replace(/[[\]{}()*?!+@\\]/g, '[$&]');
}

const MIGRATIONS = new URL('./migrations/', import.meta.url);
/** Any number that no other program on this database uses; "sallyport" spelled in a phone's digits. */
const LOCK_KEY = 725597678;
