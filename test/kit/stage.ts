/** The hostile kit's stage, which plays the internet: names, origins, canaries. And what the product is told of it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostPatternFault, parseHostPattern } from '../../core-lite/network/host-pattern.ts';
import type { CallApi } from './admin-api.ts';
import type { KitRun } from './kit-run.ts';
import type { Settings } from './product.ts';

/** The stage's own description, as far as it is used here. */
export interface Stage {
  readonly dir: string;
  /** `address:port` of its DNS server. */
  readonly dns: string;
  /** The file of the CA that signs its origins. */
  readonly originCa: string;
  readonly allowNames: readonly string[];
  /** By host: the header that carries the secret there, and its whole value. */
  readonly secrets: Readonly<Record<string, StageSecret>>;
  /** HTTP tools by name. */
  readonly tools: Readonly<Record<string, { readonly method: string; readonly url: string }>>;
  /** Base URLs of models by name. */
  readonly providers: Readonly<Record<string, string>>;
  /** URLs of MCP servers by name. */
  readonly mcpServers: Readonly<Record<string, string>>;
  readonly listenFailures: readonly string[];
}

interface StageSecret {
  readonly header: string;
  readonly value: string;
}

/** @param kit the kit's folder */
export async function startStage(run: KitRun, kit: string): Promise<Stage> {
  const dir = join(run.folder, 'stage');
  // The kit reads the file too, so what is parsed here is what it was written as.
  const read = async (): Promise<Stage> => JSON.parse(await readFile(stageFile({ dir }), 'utf8')) as Stage;
  await run.start({
    name: 'stage',
    args: [join(kit, 'stage.mjs'), '--dir', dir, '--seconds', STAGE_LIFE_S],
    isReady: async () => (await read()).dns !== '',
  });
  const stage = await read();
  const [first, ...others] = stage.listenFailures;
  if (first !== undefined)
    console.error(`kit: the stage cannot listen on ${first} and ${others.length} more: run this as root`);
  return stage;
}

export function stageFile({ dir }: Pick<Stage, 'dir'>): string {
  return join(dir, 'stage.json');
}

/** What the kit lists, without what the product refuses to load; the kit says to leave it out then. */
export function allowedNames({ allowNames }: Stage): readonly string[] {
  return allowNames.filter((entry) => {
    const pattern = parseHostPattern(entry);
    if (!(pattern instanceof HostPatternFault)) return true;
    console.error(`kit: left out of the allowlist: ${entry}: ${pattern.message}`);
    return false;
  });
}

/** The stage's names, and its origins, which have a CA of their own. */
export function stageSettings({ dns, originCa }: Stage, allow: readonly string[]): Settings {
  return {
    SALLYPORT_DNS_SERVERS: dns,
    SALLYPORT_EXTRA_CA: originCa,
    SALLYPORT_OPEN_NETWORKS: allow.map((host) => `${host}=${PUBLIC_NETWORK}`).join(','),
  };
}

/** Lets the product take what the stage's key signs. @returns its `kid` */
export async function importTokenKey(call: CallApi, { dir }: Stage): Promise<string> {
  const pem = await readFile(join(dir, 'token-pub.pem'), 'utf8');
  return (await call<{ kid: string }>('POST', '/v1/signing-keys/import', { pem })).kid;
}

/** A secret as its header has it, in two. */
export function splitScheme({ value }: StageSecret): { readonly scheme: string; readonly secret: string } {
  const scheme = /^Bearer /.exec(value)?.[0] ?? '';
  return { scheme, secret: value.slice(scheme.length) };
}

/** The loopback addresses that play the public internet. */
const PUBLIC_NETWORK = '127.77.0.0/24';
const STAGE_LIFE_S = '7200';
