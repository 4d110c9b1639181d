/**
 * A world with an egress in it, for the tests of a CONNECT's way: names from a hosts file and a scripted DNS server,
 * loopback opened for them by the operator's settings, the record at hand.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import type { ConnectionRecord, RefusalCountRecord } from '../../core-lite/record/connection-reader.ts';
import { Secret } from '../../core-lite/secret.ts';
import type { EgressService } from '../../egress/main.ts';
import { connectHead, connectTo, type Peer } from './client.ts';
import { type DnsServer, type DnsTable, startDnsServer } from './dns-server.ts';
import { startWorld, type World } from './world.ts';

export interface GateOptions {
  /** In the format of hosts(5). */
  readonly hosts?: string;
  readonly dns?: DnsTable;
  /** SALLYPORT_OPEN_NETWORKS. */
  readonly open?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface TestGate {
  readonly world: World;
  readonly egress: EgressService;
  readonly dns: DnsServer;
  /** Acts as the database's owner. */
  readonly owner: Database;
  /** Makes or changes an environment; what is not named takes its default. */
  put(environment: string, body: object): Promise<{ readonly id: string }>;
  /** Sends a CONNECT with a token and, right behind it, `more`. */
  connect(target: string, token: string, more?: string | Uint8Array): Promise<Peer>;
  /** The newest rows of the record first. */
  rows(query?: string): Promise<ConnectionRecord[]>;
  row(id: string | undefined): Promise<ConnectionRecord | undefined>;
  counts(): Promise<RefusalCountRecord[]>;
  /** The lines that were logged, parsed. */
  lines(): Record<string, unknown>[];
  close(): Promise<void>;
}

export async function startGate({
  hosts = '',
  dns = {},
  open = '',
  settings = {},
}: GateOptions): Promise<TestGate> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-gate-'));
  await writeFile(join(folder, 'hosts'), hosts);
  const server = await startDnsServer(dns);
  const world = await startWorld({
    SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
    SALLYPORT_DNS_SERVERS: server.address,
    SALLYPORT_OPEN_NETWORKS: open,
    ...settings,
  });
  const egress = await world.egress();
  const owner = openDatabase(new Secret(world.databaseUrl), null);
  const rows = (query = '') => world.call<ConnectionRecord[]>('GET', `/v1/connections?limit=500${query}`);
  return {
    world,
    egress,
    dns: server,
    owner,
    put: (environment, body) => world.call('PUT', `/v1/environments/${environment}`, body),
    connect: async (target, token, more = '') => {
      const peer = await connectTo(egress.address.port);
      return peer.send(Buffer.concat([Buffer.from(connectHead(target, token)), Buffer.from(more)]));
    },
    rows,
    row: async (id) => (await rows()).find((row) => row.id === id),
    counts: () => world.call('GET', '/v1/refusal-counts'),
    lines: () =>
      world
        .logged()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    close: async () => {
      await owner.close();
      await world.close();
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** A metric without labels, as egress shows it on its port for health and metrics. */
export async function readMetric(observePort: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${observePort}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}
