/**
 * Egress as a process of its own under a fuzzer: it must live, log no fault, look up and reach nothing but the lanes,
 * and not grow.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { readMetric } from '../support/gate.ts';
import { freePort, type Origin, startOrigin } from '../support/origin.ts';
import { type Program, startProgram } from '../support/process.ts';
import { startWorld, type World } from '../support/world.ts';

export interface RigOptions {
  /** In the format of hosts(5). */
  readonly hosts: string;
  /** SALLYPORT_OPEN_NETWORKS. */
  readonly open: string;
  readonly environment: object;
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with the admin API before egress starts. */
  readonly prepare?: (world: World) => Promise<unknown>;
}

export class FuzzRig {
  readonly world: World;
  readonly port: number;
  readonly #program: Program;
  readonly #canary: Origin;
  readonly #dns: DnsServer;
  readonly #folder: string;
  readonly #observePort: number;
  #token = '';
  #tokenAt = 0;

  private constructor(parts: Parts) {
    this.world = parts.world;
    this.port = parts.port;
    this.#program = parts.program;
    this.#canary = parts.canary;
    this.#dns = parts.dns;
    this.#folder = parts.folder;
    this.#observePort = parts.observePort;
  }

  static async start({ hosts, open, environment, settings = {}, prepare }: RigOptions): Promise<FuzzRig> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-fuzz-'));
    const [dns, canary, observePort] = [await startDnsServer({}), await startCanary(), await freePort()];
    await writeFile(join(folder, 'hosts'), `${hosts}127.2.0.1 canary.test\n`);
    const world = await startWorld({
      SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
      SALLYPORT_DNS_SERVERS: dns.address,
      // What may not be reached is not kept from being reached by its address.
      SALLYPORT_OPEN_NETWORKS: `${open},canary.test=127.0.0.0/8`,
      SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
      SALLYPORT_LOG_LEVEL: 'warn',
      ...settings,
    });
    await prepare?.(world);
    await world.call('PUT', '/v1/environments/fuzz', {
      ...environment,
      maxConnections: 1_000_000,
      newPerSecond: 1_000_000,
    });
    // The line that says where it listens is an `info`.
    const program = startProgram(['cli/sallyport.mjs', 'egress'], {
      ...world.settings,
      SALLYPORT_LOG_LEVEL: 'info',
    });
    const [, port] = await program.said(/"port":(\d+)[^\n]*"egress is ready"/);
    return new FuzzRig({ world, port: Number(port), program, canary, dns, folder, observePort });
  }

  /** The egress token of the environment, renewed in time. */
  async token(): Promise<string> {
    if (Date.now() - this.#tokenAt > TOKEN_RENEWAL_MS) {
      this.#token = await this.world.token('fuzz');
      this.#tokenAt = Date.now();
    }
    return this.#token;
  }

  /** Throws where egress has died, logged a fault, or let something reach what it must not. */
  assertSound(): void {
    const faults = this.#program
      .output()
      .split('\n')
      .filter((line) => line !== '' && !/^\{"level":"?(info|warn|debug|[1-4]\d)\b/.test(line));
    if (faults.length > 0) throw new Error(`egress logged a fault: ${faults.slice(0, 5).join('\n')}`);
    if (this.#canary.reached > 0) throw new Error('the canary was reached');
    const strange = this.#dns.lookups.filter(
      ({ name }) => !name.endsWith('.open.test') && !name.endsWith('.bound.test'),
    );
    if (strange.length > 0) throw new Error(`looked up: ${strange.map(({ name }) => name).join(' ')}`);
  }

  /** Of egress. */
  get pid(): number {
    return this.#program.pid;
  }

  openConnections(): Promise<number> {
    return readMetric(this.#observePort, 'sallyport_egress_open_connections');
  }

  /** Resident memory of egress, bytes; 0 where the system does not tell. */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#program.pid}/status`, 'utf8').catch(() => '');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** How many files egress holds open; 0 where the system does not tell. */
  async openFiles(): Promise<number> {
    return (await readdir(`/proc/${this.#program.pid}/fd`).catch(() => [])).length;
  }

  async close(): Promise<void> {
    await this.#program.end('SIGTERM');
    await this.world.close();
    await Promise.all([this.#dns.close(), this.#canary.close()]);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

interface Parts {
  readonly world: World;
  readonly port: number;
  readonly program: Program;
  readonly canary: Origin;
  readonly dns: DnsServer;
  readonly folder: string;
  readonly observePort: number;
}

/** Nothing may ever reach it. Where it cannot have the ports that a client would get by default, one of its own will do. */
async function startCanary(): Promise<Origin> {
  const behave = () => {};
  return startOrigin({ host: '127.2.0.1', port: 443, behave }).catch(() =>
    startOrigin({ host: '127.2.0.1', behave }),
  );
}

/** Egress tokens live 15 minutes. */
const TOKEN_RENEWAL_MS = 5 * 60_000;
