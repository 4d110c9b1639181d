/**
 * The demo's secret, random and made once. The vault is given it, and the demo's origin knows it again when it arrives,
 * as the provider of any key would. It is never printed, nor sent back: the origin shows its last four characters.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Secret } from '../../core-lite/secret.ts';
import { writePrivately } from './home.ts';

export interface DemoSecret {
  readonly value: Secret;
  /** Whether it was made by this start: the vault may then hold another. */
  readonly isNew: boolean;
  /** Its last characters where this `Authorization` is the secret's, `null` otherwise. */
  recognise(authorization: string | undefined): string | null;
}

/** The secret in the file; makes another where there is none. */
export async function openDemoSecret(file: string): Promise<DemoSecret> {
  const isNew = !existsSync(file);
  if (isNew) await writePrivately(file, `demo_${randomBytes(RANDOM_BYTES).toString('hex')}\n`);
  const text = (await readFile(file, 'utf8')).trim();
  return {
    value: new Secret(text),
    isNew,
    recognise: (authorization = '') => (equal(authorization, `Bearer ${text}`) ? text.slice(-SHOWN) : null),
  };
}

function equal(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const RANDOM_BYTES = 20;
const SHOWN = 4;
