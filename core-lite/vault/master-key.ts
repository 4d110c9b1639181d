/**
 * The master key: 32 random bytes in base64, in a setting or in a file that only its owner should read. It wraps the
 * class keys and nothing else, so rotating it re-wraps three rows and touches no secret.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { Fault } from '../errors.ts';
import { parseKeyBytes, SealKey } from './seal.ts';

export interface MasterKeys {
  /** Wraps; `null` where this process was given none. */
  readonly current: SealKey | null;
  /** Only unwraps, during a rotation. */
  readonly previous: SealKey | null;
}

/** Rejects with Fault `master_key_missing` (a file that cannot be read) or `master_key_wrong` (not a key). */
export async function loadMasterKeys(config: Config): Promise<MasterKeys> {
  return {
    current: await loadKey('SALLYPORT_MASTER_KEY', config.masterKey?.reveal(), config.masterKeyFile),
    previous: await loadKey(
      'SALLYPORT_MASTER_KEY_PREVIOUS',
      config.masterKeyPrevious?.reveal(),
      config.masterKeyPreviousFile,
    ),
  };
}

/** Makes a new master key in a new file, mode 0600. Rejects if the file exists: a key is never written over. */
export async function makeMasterKeyFile(file: string): Promise<SealKey> {
  const bytes = randomBytes(32);
  await writeFile(file, `${bytes.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  return masterKey(bytes);
}

async function loadKey(
  setting: string,
  text: string | undefined,
  file: string | undefined,
): Promise<SealKey | null> {
  if (text === undefined && file === undefined) return null;
  const found = text ?? (await readKeyFile(file as string));
  const bytes = parseKeyBytes(found);
  if (!bytes) {
    const where = text === undefined ? `the file ${file}` : setting;
    throw new Fault('master_key_wrong', `${where} does not hold 32 bytes in base64`);
  }
  return masterKey(bytes);
}

async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Fault('master_key_missing', `the master key file ${file} cannot be read`, error);
  }
}

/** A master key's id is made from the key, so that a wrong key is told from a broken row. */
function masterKey(bytes: Buffer): SealKey {
  const digest = createHash('sha256').update('sallyport master key id').update(bytes).digest('hex');
  return new SealKey(digest.slice(0, 8), bytes);
}
