/** What a workload's clients trust, put together from what core shows and what the settings name. No key is in it. */
import { readFile } from 'node:fs/promises';
import { trustBundlePem } from '../certs/bundle.ts';
import { writeTrustStore } from '../certs/trust-store.ts';
import type { Trust } from '../pod/files.ts';
import type { Io } from './command.ts';
import { CommandError } from './command-error.ts';
import { findCoreUrl, readEgressConfig } from './home.ts';

/**
 * Public roots, the operator's extra ones (tunnels end at origins that have their own) and the egress CA. Rejects with
 * CommandError where one cannot be had.
 */
export async function loadTrust(io: Pick<Io, 'variables' | 'signal'>): Promise<Trust> {
  const config = await readEgressConfig(io.variables);
  const base = await findCoreUrl(config, io.variables);
  const authority = await fetch(`${base}/authority.pem`, { signal: io.signal }).catch(() => null);
  if (!authority?.ok) {
    const answer = authority === null ? 'does not answer' : `answers ${authority.status}`;
    throw new CommandError(
      `core at ${base} ${answer} when asked for the egress CA`,
      '`sallyport doctor` says what is wrong',
    );
  }
  const extra = config.extraCa;
  const roots = extra === undefined ? [] : [await readRoots(extra)];
  const pem = trustBundlePem(await authority.text(), roots);
  return { pem, store: writeTrustStore(pem) };
}

function readRoots(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new CommandError(`SALLYPORT_EXTRA_CA ${file} cannot be read`, 'name a file that is there');
  });
}
