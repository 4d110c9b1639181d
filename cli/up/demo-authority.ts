/**
 * The demo origin's own CA. It stays the same from start to start, so that a copied certificate goes on working. It
 * signs for the demo's host alone, and nobody but who was told to trusts it.
 */
import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Authority, makeAuthority, openAuthority } from '../../certs/authority.ts';
import { writePrivately } from './home.ts';

/** Opens the CA in these two files; makes another where they do not hold one that is valid. */
export async function openDemoAuthority(certificateFile: string, keyFile: string): Promise<Authority> {
  return (await recall(certificateFile, keyFile)) ?? (await make(certificateFile, keyFile));
}

async function recall(certificateFile: string, keyFile: string): Promise<Authority | null> {
  if (!existsSync(certificateFile) || !existsSync(keyFile)) return null;
  try {
    const authority = openAuthority({
      certificatePem: await readFile(certificateFile, 'utf8'),
      privateKey: createPrivateKey(await readFile(keyFile)),
    });
    return authority.notAfter.getTime() > Date.now() + YEAR_MS ? authority : null;
  } catch {
    // A start that was killed between the two files leaves a pair that does not fit.
    return null;
  }
}

async function make(certificateFile: string, keyFile: string): Promise<Authority> {
  const material = makeAuthority({ name: 'Sallyport demo origin', now: new Date() });
  const key = material.privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writePrivately(keyFile, key.toString());
  await writePrivately(certificateFile, material.certificatePem);
  return openAuthority(material);
}

const YEAR_MS = 365 * 24 * 3_600_000;
