/**
 * The demo: an origin of our own, so that everything can be tried with no internet. It is reached by settings that an
 * operator has as well, the hosts file and the opened networks, and opens one port of this machine for one name.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, describeConfig } from '../../core-lite/config.ts';
import { Fault } from '../../core-lite/errors.ts';
import { openDemoAuthority } from './demo-authority.ts';
import { DEMO_HOST, startDemoOrigin } from './demo-origin.ts';
import { type HomeFiles, writePrivately } from './home.ts';

export interface Demo {
  /** `host:port`, as allowlists and URLs have it. */
  readonly origin: string;
  /** The origin of the start before, where it had another port. */
  readonly formerOrigin: string | null;
  /** The CA that a client of the origin trusts. */
  readonly caFile: string;
  /** What egress needs to reach it. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Rejects with Fault `config_invalid` where the operator's hosts file cannot be read. */
export async function startDemo(config: Config, { demo: folder }: HomeFiles): Promise<Demo> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const caFile = join(folder, 'ca.pem');
  const hostsFile = join(folder, 'hosts');
  await writePrivately(hostsFile, `${await readHostsFile(config)}\n127.0.0.1 ${DEMO_HOST}\n`);
  const authority = await openDemoAuthority(caFile, join(folder, 'ca.key'));
  const portFile = join(folder, 'port');
  const formerPort = await readPort(portFile);
  const server = await startDemoOrigin(authority, [formerPort ?? FIRST_PORT, 0]);
  await writePrivately(portFile, `${server.port}\n`);
  const origin = `${DEMO_HOST}:${server.port}`;
  return {
    origin,
    formerOrigin: formerPort && formerPort !== server.port ? `${DEMO_HOST}:${formerPort}` : null,
    caFile,
    environment: {
      SALLYPORT_HOSTS_FILE: hostsFile,
      SALLYPORT_OPEN_NETWORKS: [...openedByOperator(), `${origin}=127.0.0.1/32`].join(','),
    },
    close: server.close,
  };
}

async function readHostsFile({ hostsFile }: Config): Promise<string> {
  if (hostsFile === undefined) return '';
  return readFile(hostsFile, 'utf8').catch((error: unknown) => {
    throw new Fault('config_invalid', `SALLYPORT_HOSTS_FILE ${hostsFile} cannot be read`, error);
  });
}

/** As the operator wrote them: egress reads the text again. */
function openedByOperator(): readonly string[] {
  const row = describeConfig().find(({ name }) => name === 'SALLYPORT_OPEN_NETWORKS');
  return row?.value ? [row.value] : [];
}

async function readPort(file: string): Promise<number | null> {
  if (!existsSync(file)) return null;
  const port = Number(await readFile(file, 'utf8'));
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : null;
}

const FIRST_PORT = 4443;
