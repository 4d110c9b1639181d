/**
 * The trust bundle of a pod: what its clients trust instead of their own roots, so that tunnels (the origins'
 * own certificates) and interceptions (our leaves) both verify. It holds certificates only, whatever its
 * sources hold.
 */
import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { readCertificatePem, writeCertificatePem } from './pem.ts';

/**
 * Mozilla's public roots as Node ships them, then `roots`, then the CA, in one PEM text that ends in a
 * newline, each certificate once. `caPem` and each of `roots` hold one certificate or more (during a
 * rotation, both generations). Throws an `Error` for a text that holds none or a damaged one.
 */
export function trustBundlePem(caPem: string, roots: readonly string[] = []): string {
  const own = [...roots, caPem].flatMap(readCertificates);
  return [...new Set([...publicRoots(), ...own])].join('');
}

/** Each certificate in our own spelling, so that equal ones are equal text. */
function readCertificates(text: string): string[] {
  return readCertificatePem(text).map((der) => writeCertificatePem(new X509Certificate(der).raw));
}

function publicRoots(): readonly string[] {
  knownPublicRoots ??= rootCertificates.flatMap(readCertificates);
  return knownPublicRoots;
}

let knownPublicRoots: readonly string[] | undefined;
