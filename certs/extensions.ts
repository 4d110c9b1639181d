/**
 * The X.509 extensions that our certificates carry (RFC 5280, 4.2.1), each as one DER value, and the reading
 * of the one that a leaf takes over from its CA. Which certificate carries which is decided in `authority.ts`
 * and `leaf.ts`.
 */
import { createHash } from 'node:crypto';
import { addressBytes } from './address-bytes.ts';
import * as der from './der.ts';

/** A CA that may sign leaves but no further CA. */
export function authorityConstraints(): der.Der {
  const pathLength = der.integer(Buffer.of(0));
  return extension(BASIC_CONSTRAINTS, der.sequence(der.trueValue(), pathLength), 'critical');
}

/** Not a CA. */
export function leafConstraints(): der.Der {
  return extension(BASIC_CONSTRAINTS, der.sequence(), 'critical');
}

/** keyCertSign (bit 5) and cRLSign (bit 6). */
export function authorityKeyUsage(): der.Der {
  return extension(KEY_USAGE, der.bitString(Buffer.of(0b0000_0110), 1), 'critical');
}

/** digitalSignature (bit 0): all that an ECDHE handshake asks of the key. */
export function leafKeyUsage(): der.Der {
  return extension(KEY_USAGE, der.bitString(Buffer.of(0b1000_0000), 7), 'critical');
}

export function serverAuthentication(): der.Der {
  return extension(EXTENDED_KEY_USAGE, der.sequence(der.objectIdentifier(SERVER_AUTH)));
}

/** The DNS names and IP addresses of the certificate. Critical when the subject is empty (RFC 5280, 4.2.1.6). */
export function subjectAlternativeName(names: readonly string[], criticality?: 'critical'): der.Der {
  const general = names.map((name) => {
    const address = addressBytes(name);
    return address ? der.implicit(7, address) : der.implicit(2, Buffer.from(name, 'latin1'));
  });
  return extension(SUBJECT_ALTERNATIVE_NAME, der.sequence(...general), criticality);
}

export function subjectKeyIdentifier(identifier: Buffer): der.Der {
  return extension(SUBJECT_KEY_IDENTIFIER, der.octetString(identifier));
}

export function authorityKeyIdentifier(identifier: Buffer): der.Der {
  return extension(AUTHORITY_KEY_IDENTIFIER, der.sequence(der.implicit(0, identifier)));
}

/** The identifier of a P-256 public key: the leftmost 160 bits of its SHA-256 (RFC 7093, 2, method 1). */
export function identifyKey(publicKeyInfo: Buffer): Buffer {
  const point = publicKeyInfo.subarray(-P256_POINT_BYTES);
  return createHash('sha256').update(point).digest().subarray(0, 20);
}

/** The subject key identifier among a certificate's extensions. Throws an `Error` when there is none. */
export function findSubjectKeyIdentifier(extensions: readonly der.Der[]): Buffer {
  const type = der.encode(der.objectIdentifier(SUBJECT_KEY_IDENTIFIER));
  for (const candidate of extensions) {
    const parts = der.partsOf(candidate);
    const [first, value] = [parts[0], parts.at(-1)];
    if (first !== undefined && value !== undefined && der.encode(first).equals(type)) {
      return der.contentOf(der.decode(der.contentOf(value)));
    }
  }
  throw new Error('the certificate has no subject key identifier');
}

function extension(type: string, value: der.Der, criticality?: 'critical'): der.Der {
  const critical = criticality === undefined ? [] : [der.trueValue()];
  return der.sequence(der.objectIdentifier(type), ...critical, der.octetString(der.encode(value)));
}

const SUBJECT_KEY_IDENTIFIER = '2.5.29.14';
const KEY_USAGE = '2.5.29.15';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const AUTHORITY_KEY_IDENTIFIER = '2.5.29.35';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const P256_POINT_BYTES = 65;
