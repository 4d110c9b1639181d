/**
 * The egress CA: made once for each generation by `makeAuthority`, kept sealed by core-lite, and opened in
 * egress by `openAuthority`. Its private key signs leaves and nothing else; it stays a KeyObject, so that it
 * does not print.
 */
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { type CertificateFields, distinguishedName, signCertificate, wholeSeconds } from './certificate.ts';
import * as der from './der.ts';
import * as extensions from './extensions.ts';
import { readCertificatePem, writeCertificatePem } from './pem.ts';

export type AuthorityMaterial = { readonly certificatePem: string; readonly privateKey: KeyObject };

/**
 * Makes a new CA: P-256, self-signed, 10 years from `now` and 48 hours backdated. `name` (1 to 64 characters,
 * as X.520 allows) becomes its organization and common name; it should name the generation too, because some
 * clients tell CAs apart by name alone and trust two of them during a rotation. Throws an `Error` for any
 * other name.
 */
export function makeAuthority(options: { readonly name: string; readonly now: Date }): AuthorityMaterial {
  const { name, now } = options;
  if (name.trim() === '' || [...name].length > MAX_NAME_LENGTH) {
    throw new Error(`the name of a CA has 1 to ${MAX_NAME_LENGTH} characters`);
  }
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const identifier = extensions.identifyKey(publicKeyInfo);
  const subject = distinguishedName({ organization: name, commonName: name });
  const fields: CertificateFields = {
    issuer: subject,
    subject,
    notBefore: wholeSeconds(now.getTime() - BACKDATING_MS),
    notAfter: wholeSeconds(now.getTime() + LIFETIME_MS),
    publicKey: der.decode(publicKeyInfo),
    extensions: [
      extensions.authorityConstraints(),
      extensions.authorityKeyUsage(),
      extensions.subjectKeyIdentifier(identifier),
      extensions.authorityKeyIdentifier(identifier),
    ],
  };
  return { certificatePem: writeCertificatePem(signCertificate(fields, privateKey)), privateKey };
}

/**
 * Opens one generation of the CA for signing and makes the key pair that all its leaves share: a leaf's key
 * never leaves this process and dies with it, and a new pair for each host would cost more than the rest of a
 * leaf. Throws an `Error` when the text is not one certificate, it is no CA on P-256, or the key is not its
 * key.
 */
export function openAuthority(material: AuthorityMaterial): Authority {
  const [certificateDer, ...others] = readCertificatePem(material.certificatePem);
  if (certificateDer === undefined || others.length > 0) {
    throw new Error('the egress CA must be exactly one certificate');
  }
  const certificate = new X509Certificate(certificateDer);
  if (!certificate.ca) throw new Error('the certificate of the egress CA is not a CA certificate');
  if (certificate.publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error('the key of the egress CA is not on the curve P-256');
  }
  if (!certificate.checkPrivateKey(material.privateKey)) {
    throw new Error('the private key and the certificate of the egress CA do not belong together');
  }
  return new Authority(certificate, material.privateKey);
}

class Authority {
  readonly certificatePem: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The CA's subject as its certificate spells it: clients compare a leaf's issuer with it byte for byte. */
  readonly subject: der.Der;
  /** The extension by which a leaf names this CA's key. */
  readonly keyIdentifierExtension: der.Der;
  readonly leafKey = new LeafKey();
  readonly #privateKey: KeyObject;

  constructor(certificate: X509Certificate, privateKey: KeyObject) {
    const { subject, keyIdentifier } = readIssuer(certificate.raw);
    this.certificatePem = writeCertificatePem(certificate.raw);
    this.notBefore = certificate.validFromDate;
    this.notAfter = certificate.validToDate;
    this.subject = subject;
    this.keyIdentifierExtension = extensions.authorityKeyIdentifier(keyIdentifier);
    this.#privateKey = privateKey;
  }

  /** Signs a certificate that this CA issues, and returns its DER. */
  sign(fields: Omit<CertificateFields, 'issuer' | 'publicKey'>): Buffer {
    const issued = { ...fields, issuer: this.subject, publicKey: this.leafKey.publicKey };
    return signCertificate(issued, this.#privateKey);
  }
}

class LeafKey {
  /** The SubjectPublicKeyInfo. */
  readonly publicKey: der.Der;
  /** The extension by which a leaf names its own key. */
  readonly keyIdentifierExtension: der.Der;
  readonly #pem: string;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
    this.publicKey = der.decode(publicKeyInfo);
    this.keyIdentifierExtension = extensions.subjectKeyIdentifier(extensions.identifyKey(publicKeyInfo));
    this.#pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  /** The private key, PKCS#8: text, as `node:tls` takes no KeyObject. A getter, so that it does not print. */
  get pem(): string {
    return this.#pem;
  }
}

/** What a leaf takes over from its CA's certificate. */
function readIssuer(certificateDer: Buffer): { subject: der.Der; keyIdentifier: Buffer } {
  const [toBeSigned] = der.partsOf(der.decode(certificateDer));
  const fields = toBeSigned === undefined ? [] : der.partsOf(toBeSigned);
  // RFC 5280, 4.1: version, serial, algorithm, issuer, validity, subject, key, extensions.
  const [subject, extensionsField] = [fields[5], fields[7]];
  const list = extensionsField === undefined ? undefined : der.partsOf(extensionsField)[0];
  if (subject === undefined || list === undefined) throw new Error('the egress CA has no extensions');
  return { subject, keyIdentifier: extensions.findSubjectKeyIdentifier(der.partsOf(list)) };
}

// As a type only, so that `openAuthority` alone makes one: its key was checked against its certificate.
export type { Authority };

// A pod's or a replica's clock may be behind the clock of whoever made the CA.
const BACKDATING_MS = 48 * 3_600_000;

// Longer than an installation is likely to go without a rotation. Only pods that were given the CA trust it,
// and a new generation replaces it whenever the operator wants: its end must never be what stops egress.
const LIFETIME_MS = 3650 * 24 * 3_600_000;

const MAX_NAME_LENGTH = 64;
