/**
 * Class keys: one for each class of secrets, so that a service that is given only its own cannot open the others'.
 * They are random, live in the database wrapped by the master key, and never change when the master key does.
 */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { Secret } from '../secret.ts';
import { loadMasterKeys, type MasterKeys } from './master-key.ts';
import { parseKeyBytes, SealKey } from './seal.ts';

export const KEY_CLASSES = ['signing', 'gates', 'egress'] as const;
export type KeyClass = (typeof KEY_CLASSES)[number];

interface ClassKeyRow {
  readonly class: KeyClass;
  readonly key_id: string;
  readonly master_key_id: string;
  readonly wrapped: Buffer;
}

/**
 * The class key of a service: from its own file if it was given one, else from the database with the master key.
 * Rejects with Fault `class_key_missing`, `master_key_missing` or `master_key_wrong`.
 */
export async function openClassKey(db: Queryable, config: Config, keyClass: KeyClass): Promise<SealKey> {
  if (config.classKeyFile !== undefined) return loadClassKeyFile(config.classKeyFile, keyClass);
  const [row] = await db.query<ClassKeyRow>('SELECT * FROM class_keys WHERE class = $1', [keyClass]);
  if (!row) throw new Fault('class_key_missing', `the database has no class key "${keyClass}" yet`);
  return unwrap(row, await loadMasterKeys(config));
}

/** Makes the class keys that are missing. Needs the owner's login. */
export async function makeClassKeys(db: Queryable, master: SealKey): Promise<void> {
  for (const keyClass of KEY_CLASSES) {
    const key = SealKey.make();
    await db.query(
      `INSERT INTO class_keys (class, key_id, master_key_id, wrapped) VALUES ($1, $2, $3, $4)
       ON CONFLICT (class) DO NOTHING`,
      [keyClass, key.id, master.id, master.seal(key.export(), place(keyClass, key.id))],
    );
  }
}

/**
 * Wraps every class key with the current master key; those that are already are left alone.
 * Rejects with Fault `master_key_wrong` if one opens with neither key: then nothing is changed.
 * @param tx a transaction
 * @returns how many were wrapped anew
 */
export async function rewrapClassKeys(tx: Queryable, keys: MasterKeys): Promise<number> {
  if (!keys.current) throw new Fault('master_key_missing', 'no master key is set');
  const rows = await tx.query<ClassKeyRow>('SELECT * FROM class_keys FOR UPDATE');
  const stale = rows.filter((row) => row.master_key_id !== keys.current?.id);
  for (const row of stale) {
    const wrapped = keys.current.seal(unwrap(row, keys).export(), place(row.class, row.key_id));
    await tx.query(
      'UPDATE class_keys SET wrapped = $2, master_key_id = $3, wrapped_at = now() WHERE class = $1',
      [row.class, wrapped, keys.current.id],
    );
  }
  return stale.length;
}

/** A class key as a line of `SALLYPORT_CLASS_KEY_FILE`, which may hold several: core needs all three. */
export function exportClassKey(keyClass: KeyClass, key: SealKey): Secret {
  return new Secret(`${keyClass} ${key.id} ${key.export().reveal()}`);
}

function unwrap(row: ClassKeyRow, keys: MasterKeys): SealKey {
  if (!keys.current && !keys.previous) throw new Fault('master_key_missing', 'no master key is set');
  const master = [keys.current, keys.previous].find((key) => key?.id === row.master_key_id);
  if (!master)
    throw new Fault('master_key_wrong', 'the master key is not the one that this database was set up with');
  const bytes = parseKeyBytes(master.open(row.wrapped, place(row.class, row.key_id)).reveal());
  if (!bytes) throw new Fault('seal_broken', `the class key "${row.class}" is damaged`);
  return new SealKey(row.key_id, bytes);
}

async function loadClassKeyFile(file: string, keyClass: KeyClass): Promise<SealKey> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('class_key_missing', `the class key file ${file} cannot be read`, error);
  });
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${keyClass} `));
  const [, id, encoded] = (line ?? '').trim().split(' ');
  const bytes = parseKeyBytes(encoded ?? '');
  if (!bytes || !/^[0-9a-f]{8}$/.test(id ?? '')) {
    throw new Fault('class_key_missing', `the file ${file} holds no class key "${keyClass}"`);
  }
  return new SealKey(id as string, bytes);
}

function place(keyClass: KeyClass, keyId: string): string {
  return `class_keys ${keyClass} wrapped ${keyId}`;
}
