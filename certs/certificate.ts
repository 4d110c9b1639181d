/**
 * One X.509 version 3 certificate: its fields put in order (RFC 5280, 4.1) and signed with ECDSA and SHA-256.
 * What a certificate says is decided by its callers, `authority.ts` and `leaf.ts`; nothing is decided here.
 */
import { type KeyObject, randomBytes, sign } from 'node:crypto';
import * as der from './der.ts';

export type CertificateFields = {
  readonly issuer: der.Der;
  readonly subject: der.Der;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The SubjectPublicKeyInfo. */
  readonly publicKey: der.Der;
  readonly extensions: readonly der.Der[];
};

/** Signs with a P-256 key and returns the certificate's DER. Each certificate gets a random serial number. */
export function signCertificate(fields: CertificateFields, privateKey: KeyObject): Buffer {
  const toBeSigned = der.sequence(
    der.explicit(0, VERSION_3),
    der.integer(randomSerial()),
    ECDSA_WITH_SHA256,
    fields.issuer,
    der.sequence(der.time(fields.notBefore), der.time(fields.notAfter)),
    fields.subject,
    fields.publicKey,
    der.explicit(3, der.sequence(...fields.extensions)),
  );
  const signature = sign('sha256', der.encode(toBeSigned), { key: privateKey, dsaEncoding: 'der' });
  return der.encode(der.sequence(toBeSigned, ECDSA_WITH_SHA256, der.bitString(signature)));
}

/** A distinguished name: organization, then common name, each only if given. Neither makes the empty name. */
export function distinguishedName(name: { organization?: string; commonName?: string }): der.Der {
  const values = [
    ...attribute(ORGANIZATION_NAME, name.organization),
    ...attribute(COMMON_NAME, name.commonName),
  ];
  return der.sequence(...values);
}

/** The time in whole seconds, the finest that a certificate can say; a part of a second is dropped. */
export function wholeSeconds(timeMs: number): Date {
  return new Date(Math.floor(timeMs / 1000) * 1000);
}

function attribute(type: der.Der, text: string | undefined): der.Der[] {
  return text === undefined ? [] : [der.set(der.sequence(type, der.utf8String(text)))];
}

/** 126 random bits in 16 bytes: the first is 0x40 to 0x7f, so the number is positive and never shorter. */
function randomSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

const VERSION_3 = der.integer(Buffer.of(2));
const ECDSA_WITH_SHA256 = der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));
const ORGANIZATION_NAME = der.objectIdentifier('2.5.4.10');
const COMMON_NAME = der.objectIdentifier('2.5.4.3');
