/** The resolver of these settings: for egress, and for commands that look as egress would. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { Fault } from '../errors.ts';
import { parseHostsFile } from './hosts-file.ts';
import { Resolver } from './resolve.ts';

/** Rejects with Fault `config_invalid` where the hosts file or a server cannot be read. The caller closes it. */
export async function openResolver(config: Config): Promise<Resolver> {
  const { hostsFile, dnsServers } = config;
  const hosts = hostsFile === undefined ? undefined : parseHostsFile(await readHostsFile(hostsFile));
  return new Resolver({
    ...(dnsServers ? { servers: dnsServers } : {}),
    ...(hosts ? { hosts } : {}),
    now: () => performance.now(),
  });
}

async function readHostsFile(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('config_invalid', `SALLYPORT_HOSTS_FILE ${file} cannot be read`, error);
  });
}
