/**
 * PostgreSQL for the tests: as vitest's global setup it starts one server for the whole run and ends it; in a test
 * it makes databases in that server. The server is the product's own embedded one: no test needs anything installed.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startTemporary } from '../../core-lite/database/embedded.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the test server's owner. */
    readonly postgresUrl: string;
  }
}

export interface TestDatabase {
  /** The owner's URL of this database. */
  readonly url: string;
  /** Drops it, together with whoever is still connected. */
  close(): Promise<void>;
}

/** Starts the server of the run; vitest calls what it returns when the run has ended, with failures or without. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTemporary();
  // On a Ctrl-C vitest exits at once and calls nothing: the server then ends by itself, and the next run clears its
  // folder away, as it does after a kill.
  const onExit = () => process.kill(server.pid, 'SIGINT');
  process.once('exit', onExit);
  project.provide('postgresUrl', server.url);
  return () => {
    process.off('exit', onExit);
    return server.close();
  };
}

/** Makes a database of its own for a test: empty, or a copy of `template`, which nobody may be connected to. */
export async function createDatabase(template = 'template0'): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asOwner(`create database ${name} template ${template}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = name;
  return { url: url.href, close: () => asOwner(`drop database if exists ${name} with (force)`) };
}

async function asOwner(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
