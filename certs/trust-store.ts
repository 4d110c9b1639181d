/**
 * The trust bundle as a PKCS#12 file: the only form in which every Java since 8 takes its roots. Neither encrypted nor
 * authenticated, since nothing in it is secret and Java asks an entry of this kind for no password. It holds
 * certificates only, and never a key.
 */
import * as der from './der.ts';
import { readCertificatePem } from './pem.ts';

/**
 * The PKCS#12 file (RFC 7292) of the certificates in `bundlePem`, in their order; each should stand there once.
 * Throws an `Error` for a text that holds none or a damaged one.
 */
export function writeTrustStore(bundlePem: string): Buffer {
  const bags = readCertificatePem(bundlePem).map(certificateBag);
  const contents = dataContent(der.encode(der.sequence(...bags)));
  return der.encode(der.sequence(VERSION_3, dataContent(der.encode(der.sequence(contents)))));
}

function certificateBag(certificate: Buffer, place: number): der.Der {
  const held = der.sequence(
    der.objectIdentifier(X509_CERTIFICATE),
    der.explicit(0, der.octetString(certificate)),
  );
  return der.sequence(
    der.objectIdentifier(CERTIFICATE_BAG),
    der.explicit(0, held),
    der.set(
      attribute(FRIENDLY_NAME, der.bmpString(`sallyport-${place}`)),
      // Without it Java takes the certificate for part of somebody's chain, and the store for an empty one.
      attribute(TRUSTED_KEY_USAGE, der.objectIdentifier(ANY_EXTENDED_KEY_USAGE)),
    ),
  );
}

function attribute(type: string, value: der.Der): der.Der {
  return der.sequence(der.objectIdentifier(type), der.set(value));
}

/** ContentInfo of plain data (RFC 5652, 4). */
function dataContent(content: Buffer): der.Der {
  return der.sequence(der.objectIdentifier(DATA), der.explicit(0, der.octetString(content)));
}

const VERSION_3 = der.integer(Buffer.of(3));
const DATA = '1.2.840.113549.1.7.1';
const CERTIFICATE_BAG = '1.2.840.113549.1.12.10.1.3';
const X509_CERTIFICATE = '1.2.840.113549.1.9.22.1';
const FRIENDLY_NAME = '1.2.840.113549.1.9.20';
/** Oracle's own. */
const TRUSTED_KEY_USAGE = '2.16.840.1.113894.746875.1.1';
const ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0';
