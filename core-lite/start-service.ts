/**
 * How every service starts and stops: its database first, then its parts in the order in which they need each other;
 * they are closed in the opposite one.
 */
import type { Config } from './config.ts';
import { checkSchema } from './database/migrate.ts';
import { type Database, openDatabase, type Role } from './database/pool.ts';
import { Fault } from './errors.ts';
import type { Logger } from './log.ts';
import type { Secret } from './secret.ts';
import type { Service } from './service.ts';

/** What a service builds its parts on. */
export interface Base {
  readonly config: Config;
  readonly log: Logger;
  readonly url: Secret;
  readonly database: Database;
  /** Has the part closed when the service ends, or does not come to start. */
  hold<Part extends Closable>(part: Part): Part;
}

interface Closable {
  /** May say how many rows could not be written. */
  close(): unknown;
}

/**
 * @param serve builds the parts and listens; the service that it gives is closed once, before the parts
 * Rejects with the Fault that keeps it from starting; then nothing is left open.
 */
export async function startService<Made extends Service>(
  config: Config,
  log: Logger,
  role: Role,
  serve: (base: Base) => Promise<Made>,
): Promise<Made> {
  const url = config.databaseUrl;
  if (!url) throw new Fault('config_invalid', 'DATABASE_URL is not set');
  const database = openDatabase(url, role, { max: config.databaseConnections });
  const parts: Closable[] = [database];
  const hold = <Part extends Closable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  try {
    await checkSchema(database);
    const made = await serve({ config, log, url, database, hold });
    let closing: Promise<void> | undefined;
    return { ...made, close: () => (closing ??= made.close().finally(() => closeAll(parts, log))) };
  } catch (error) {
    await closeAll(parts, log);
    throw error;
  }
}

/** Resolves when no work is left, or after `limitMs`. */
export async function emptied(work: { readonly size: number }, limitMs: number): Promise<void> {
  const until = Date.now() + limitMs;
  while (work.size > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function closeAll(parts: readonly Closable[], log: Logger): Promise<void> {
  for (const part of parts.toReversed()) {
    const left = await part.close();
    if (typeof left === 'number' && left > 0)
      log.error({ rows: left }, 'rows of the record could not be written');
  }
}
