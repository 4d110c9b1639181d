/** When everything that `sallyport up` started can be used. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { type Addresses, reachable } from './addresses.ts';
import { ask } from './ask.ts';
import type { HomeFiles } from './home.ts';

/**
 * Resolves to `null` when core, egress and the gates serve and reach the database, or after 30 s to a line that says which does
 * not. Rejects when `signal` is aborted.
 */
export async function untilReady(
  addresses: Addresses,
  { coreLog, egressLog, gatesLog }: HomeFiles,
  signal: AbortSignal,
): Promise<string | null> {
  const until = Date.now() + LIMIT_MS;
  const checks: readonly (readonly [name: string, log: string, check: () => Promise<boolean>])[] = [
    ['core', coreLog, () => isOk(addresses.coreObserve, '/ready')],
    ['core', coreLog, () => isOk(addresses.core, '/health')],
    ['egress', egressLog, () => isOk(addresses.egressObserve, '/ready')],
    // The proxy itself has no path that answers: that it takes connections must do.
    ['egress', egressLog, () => accepts(addresses.egress)],
    ['gates', gatesLog, () => isOk(addresses.gatesObserve, '/ready')],
    ['gates', gatesLog, () => isOk(addresses.gates, '/')],
  ];
  const ready = await Promise.all(checks.map(([, , check]) => holds(check, until, signal)));
  const late = checks.find((_, place) => !ready[place]);
  if (late === undefined) return null;
  const [name, log] = late;
  return `sallyport: ${name} is not ready after ${LIMIT_MS / 1_000} s; read ${log}`;
}

async function holds(check: () => Promise<boolean>, until: number, signal: AbortSignal): Promise<boolean> {
  while (!(await check().catch(() => false))) {
    if (Date.now() > until) return false;
    await delay(POLL_MS, undefined, { signal });
  }
  return true;
}

async function isOk(address: ListenAddress, path: string): Promise<boolean> {
  return (await ask(address, { path })).status === 200;
}

async function accepts(address: ListenAddress): Promise<boolean> {
  const socket = connect(reachable(address));
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}

const LIMIT_MS = 30_000;
const POLL_MS = 30;
