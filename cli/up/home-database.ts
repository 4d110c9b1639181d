/**
 * The database of `sallyport up`: the server that DATABASE_URL names, of which none is started or stopped, or the
 * embedded one of the home. Either way this process holds the home's lock: two starts never share one.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../core-lite/config.ts';
import { startEmbedded } from '../../core-lite/database/embedded.ts';
import { lockFolder } from '../../core-lite/database/folder-lock.ts';
import { exists } from '../../core-lite/database/processes.ts';
import { Secret } from '../../core-lite/secret.ts';

export interface HomeDatabase {
  /** The owner's URL. */
  readonly url: DatabaseUrl;
  /** Resolves to a line for the user when a server that we started ended by itself. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

export interface DatabaseUrl {
  readonly secret: Secret;
  /** Whether it is our own server's: then no other setting may name a database. */
  readonly embedded: boolean;
}

interface Watched {
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** Rejects with Fault `home_in_use`, or what `startEmbedded` rejects with. */
export async function openHomeDatabase(
  config: Config,
  home: string,
  watched: Watched,
): Promise<HomeDatabase> {
  if (config.databaseUrl) {
    const unlock = await lockFolder(home);
    return {
      url: { secret: config.databaseUrl, embedded: false },
      ended: new Promise(() => {}),
      close: async () => unlock(),
    };
  }
  // That it ended is said by the line of `ended`.
  const log = (line: string) => (/ended unexpectedly/.test(line) ? undefined : watched.log(line));
  const database = await startEmbedded({ home, signal: watched.signal, log });
  const closing = new AbortController();
  return {
    url: { secret: new Secret(database.url), embedded: true },
    ended: watch(database.pid, closing.signal).then(
      () =>
        `sallyport: PostgreSQL (process ${database.pid}) ended; start again, or read ${join(home, 'postgres.log')}`,
    ),
    close: () => {
      closing.abort();
      return database.close();
    },
  };
}

/** Resolves when the process has ended by itself, and never when it was closed. */
async function watch(pid: number, closing: AbortSignal): Promise<void> {
  while (exists(pid) && !closing.aborted) await delay(WATCH_MS, undefined, { ref: false });
  if (closing.aborted) await new Promise(() => {});
}

const WATCH_MS = 250;
