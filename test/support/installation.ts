/**
 * An installation without its services: a database that is migrated and set up as `sallyport` does it, for tests of
 * what core reads and writes there. It is copied from a template that the first test of a run makes: that is fast.
 */
import pg from 'pg';
import { inject } from 'vitest';
import { setUp } from '../../cli/set-up.ts';
import { type Config, readConfig } from '../../core-lite/config.ts';
import { type Database, openDatabase, type Role } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import { loadTenantId } from '../../core-lite/state/tenant.ts';
import { openClassKey } from '../../core-lite/vault/class-keys.ts';
import type { Seals } from '../../core-lite/vault/credential-store.ts';
import { createDatabase } from './postgres.ts';

export interface Installation {
  /** The owner's URL. */
  readonly url: string;
  readonly config: Config;
  readonly tenantId: string;
  readonly seals: Seals;
  /** Acts with every right. */
  readonly owner: Database;
  /** A pool of this role's, closed with the installation. */
  as(role: Role): Database;
  close(): Promise<void>;
}

export async function createInstallation(): Promise<Installation> {
  await makeTemplate();
  const database = await createDatabase(TEMPLATE);
  const config = readConfig({ SALLYPORT_MASTER_KEY: MASTER_KEY, DATABASE_URL: database.url });
  const owner = openDatabase(new Secret(database.url), null);
  const pools = [owner];
  return {
    url: database.url,
    config,
    owner,
    tenantId: await loadTenantId(owner),
    seals: {
      signing: await openClassKey(owner, config, 'signing'),
      gates: await openClassKey(owner, config, 'gates'),
      egress: await openClassKey(owner, config, 'egress'),
    },
    as: (role) => {
      const pool = openDatabase(new Secret(database.url), role);
      pools.push(pool);
      return pool;
    },
    close: async () => {
      for (const pool of pools) await pool.close();
      await database.close();
    },
  };
}

/** It gets its name when it is complete, so that what an interrupted run left is never copied. */
async function makeTemplate(): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(1)');
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE]);
    if (rowCount !== 0) return;
    const { url } = await createDatabase();
    const owner = openDatabase(new Secret(url), null);
    await setUp(owner, readConfig({ SALLYPORT_MASTER_KEY: MASTER_KEY })).finally(() => owner.close());
    // A server process goes on for a moment after its connection was closed.
    const name = new URL(url).pathname.slice(1);
    await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [
      name,
    ]);
    await client.query(`alter database ${name} rename to ${TEMPLATE}`);
  } finally {
    await client.end();
  }
}

export const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const TEMPLATE = 'template_installation';
