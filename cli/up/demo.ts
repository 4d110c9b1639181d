/**
 * The demo: an origin of our own, so that everything can be tried with no internet. It is reached by settings that an
 * operator has as well, the hosts file, the opened networks and the extra roots, and opens one port of this machine for
 * its two names.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, describeConfig } from '../../core-lite/config.ts';
import { Fault } from '../../core-lite/errors.ts';
import { openDemoAuthority } from './demo-authority.ts';
import { DEMO_API_HOST, DEMO_HOST, startDemoOrigin } from './demo-origin.ts';
import { type DemoSecret, openDemoSecret } from './demo-secret.ts';
import { type HomeFiles, writePrivately } from './home.ts';

/** Where the demo's origin is, each as `host:port`, as allowlists and URLs have it. */
interface DemoPlace {
  /** No secret is bound to it. */
  readonly origin: string;
  /** The demo's secret is bound to it. */
  readonly api: string;
}

export interface Demo extends DemoPlace {
  /** Of the start before, where it had another port. */
  readonly former: DemoPlace | null;
  readonly secret: DemoSecret;
  /** What egress needs to reach it. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Rejects with Fault `config_invalid` where the operator's hosts file or extra roots cannot be read. */
export async function startDemo(config: Config, { demo: folder }: HomeFiles): Promise<Demo> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const hostsFile = join(folder, 'hosts');
  const rootsFile = join(folder, 'roots.pem');
  const portFile = join(folder, 'port');
  const names = `127.0.0.1 ${DEMO_HOST} ${DEMO_API_HOST}`;
  await writePrivately(
    hostsFile,
    `${await readOperators('SALLYPORT_HOSTS_FILE', config.hostsFile)}\n${names}\n`,
  );
  const authority = await openDemoAuthority(join(folder, 'ca.pem'), join(folder, 'ca.key'));
  const roots = await readOperators('SALLYPORT_EXTRA_CA', config.extraCa);
  await writePrivately(rootsFile, `${roots}\n${authority.certificatePem}`);
  const secret = await openDemoSecret(join(folder, 'api.key'));
  const formerPort = await readPort(portFile);
  const server = await startDemoOrigin(authority, secret, [formerPort ?? FIRST_PORT, 0]);
  await writePrivately(portFile, `${server.port}\n`);
  const place = placeAt(server.port);
  const opened = [place.origin, place.api].map((each) => `${each}=127.0.0.1/32`);
  return {
    ...place,
    former: formerPort && formerPort !== server.port ? placeAt(formerPort) : null,
    secret,
    environment: {
      SALLYPORT_HOSTS_FILE: hostsFile,
      SALLYPORT_EXTRA_CA: rootsFile,
      SALLYPORT_OPEN_NETWORKS: [...openedByOperator(), ...opened].join(','),
    },
    close: server.close,
  };
}

function placeAt(port: number): DemoPlace {
  return { origin: `${DEMO_HOST}:${port}`, api: `${DEMO_API_HOST}:${port}` };
}

/** What the operator's own file holds: ours stands in its place for egress, so it has all of it. */
async function readOperators(setting: string, file: string | undefined): Promise<string> {
  if (file === undefined) return '';
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('config_invalid', `${setting} ${file} cannot be read`, error);
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
