/** The operator's own roots (SALLYPORT_EXTRA_CA), for origins, providers and tools besides the public ones. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Fault } from '../errors.ts';

/** The certificates of the file as PEM, none without a file. Rejects with Fault `config_invalid`. */
export async function loadExtraRoots(file: string | undefined): Promise<readonly string[]> {
  if (file === undefined) return [];
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('config_invalid', `SALLYPORT_EXTRA_CA ${file} cannot be read`, error);
  });
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0)
    throw new Fault('config_invalid', `SALLYPORT_EXTRA_CA ${file} holds no certificate`);
  for (const pem of found) {
    try {
      new X509Certificate(pem);
    } catch (error) {
      throw new Fault('config_invalid', `SALLYPORT_EXTRA_CA ${file} holds a broken certificate`, error);
    }
  }
  return found;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
