/** Where the services listen: chosen, looked at before anything starts there, and written down for the command line. */
import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Config } from '../../core-lite/config.ts';
import { Fault, isFault } from '../../core-lite/errors.ts';
import { formatAddress, translateListenError } from '../../core-lite/service.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { writePrivately } from './home.ts';

export interface Addresses extends Readonly<Record<Listener, ListenAddress>> {
  /** The settings that make the services listen there. */
  readonly environment: Readonly<Record<string, string>>;
}

export type Listener = keyof typeof LISTENERS;

/** The settings' addresses; where they leave the port to us (0) one that is free now. */
export async function chooseAddresses(config: Config): Promise<Addresses> {
  const settled = await Promise.all(
    NAMES.map(async (name) => [name, await settle(config[`${name}Listen`])] as const),
  );
  const environment = settled.map(([name, address]) => [LISTENERS[name], formatAddress(address)]);
  // Every listener is among the names.
  const addresses = Object.fromEntries(settled) as Record<Listener, ListenAddress>;
  return { ...addresses, environment: Object.fromEntries(environment) };
}

/**
 * Rejects with Fault `port_taken` where something listens already: what answers there would be taken for ours. The
 * services say the same when they come too late.
 */
export async function checkPorts(addresses: Addresses): Promise<void> {
  for (const name of NAMES) {
    await bindOnce(addresses[name]).catch((error: unknown) => {
      throw isFault(error) ? new Fault(error.code, `${error.message} (${LISTENERS[name]})`, error) : error;
    });
  }
}

/** The address at which this machine reaches what listens there. */
export function reachable({ host, port }: ListenAddress): ListenAddress {
  return { host: ANY_HOST[host] ?? host, port };
}

/**
 * Writes the addresses for the command line; `close` takes them away again.
 * @param settings what egress was given besides: with it `explain` looks as egress does
 */
export async function publishAddresses(
  file: string,
  addresses: Addresses,
  settings: Readonly<Record<string, string>>,
): Promise<{ close(): Promise<void> }> {
  const texts = NAMES.map((name) => [name, formatAddress(reachable(addresses[name]))]);
  const published = { ...Object.fromEntries(texts), settings };
  await writePrivately(file, `${JSON.stringify(published, null, 2)}\n`);
  return { close: () => rm(file, { force: true }) };
}

async function settle(address: ListenAddress): Promise<ListenAddress> {
  if (address.port !== 0) return address;
  for (let attempt = 1; ; attempt += 1) {
    const chosen = { ...address, port: randomInt(FIRST_FREE_PORT, LAST_FREE_PORT) };
    try {
      await bindOnce(chosen);
      return chosen;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

function bindOnce(address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(translateListenError(error, address)));
    probe.listen({ ...address, exclusive: true }, () => probe.close(() => resolve()));
  });
}

/** What listens, each with the setting that says where. */
const LISTENERS = {
  core: 'SALLYPORT_CORE_LISTEN',
  coreObserve: 'SALLYPORT_CORE_OBSERVE_LISTEN',
  egress: 'SALLYPORT_EGRESS_LISTEN',
  egressTls: 'SALLYPORT_EGRESS_TLS_LISTEN',
  egressObserve: 'SALLYPORT_EGRESS_OBSERVE_LISTEN',
  gates: 'SALLYPORT_GATES_LISTEN',
  gatesObserve: 'SALLYPORT_GATES_OBSERVE_LISTEN',
} as const;
// Its keys are what it was written with.
const NAMES = Object.keys(LISTENERS) as readonly Listener[];
const ANY_HOST: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/**
 * Below the ports that systems hand out by themselves (32768 on Linux, 49152 elsewhere): one of those could be given
 * to any connection on this machine before the service binds it.
 */
const FIRST_FREE_PORT = 20_000;
const LAST_FREE_PORT = 32_768;
const ATTEMPTS = 20;
