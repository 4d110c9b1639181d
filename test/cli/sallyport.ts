/** The command line as a user types it, run in the test's own process: what it printed, and its exit status. */
import { Readable } from 'node:stream';
import type { Io } from '../../cli/command.ts';
import { runCommand } from '../../cli/run.ts';
import { formatAddress, type Service } from '../../core-lite/service.ts';
import type { World } from '../support/world.ts';

export interface Typed {
  readonly status: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
  /** Standard output as JSON. */
  json<T>(): T;
}

export interface Around {
  /** The whole environment. */
  readonly variables?: NodeJS.ProcessEnv;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  /** Told of each line of standard output as it comes. */
  readonly seen?: (line: string) => void;
}

export async function sallyport(words: readonly string[], around: Around = {}): Promise<Typed> {
  const { variables = {}, stdin = '', signal = new AbortController().signal, seen } = around;
  const out: string[] = [];
  const err: string[] = [];
  const print = (line: string): void => {
    out.push(line);
    seen?.(line);
  };
  const io: Io = {
    out: print,
    err: (line) => err.push(line),
    stdin: Readable.from([Buffer.from(stdin)]),
    variables: { SALLYPORT_HOME: NOWHERE, ...variables },
    signal,
    log: { write: print },
  };
  const status = await runCommand(words, io);
  return { status, out, err, json: <T>() => JSON.parse(out.join('\n')) as T };
}

/** The settings with which an operator reaches this world. */
export function settingsOf(world: World, egress?: Service): Record<string, string> {
  return {
    DATABASE_URL: world.databaseUrl,
    SALLYPORT_MASTER_KEY: world.settings['SALLYPORT_MASTER_KEY'] ?? '',
    SALLYPORT_CORE_URL: `http://${formatAddress(world.core.address)}`,
    SALLYPORT_ADMIN_KEY: world.adminKey,
    ...(egress ? { SALLYPORT_EGRESS_LISTEN: formatAddress(egress.address) } : {}),
  };
}

/** A home that nothing was ever started in. */
const NOWHERE = '/nonexistent/sallyport-home';
