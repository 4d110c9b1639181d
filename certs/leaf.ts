/**
 * A leaf: the certificate that egress shows, in place of the origin's, for one bound host inside an
 * interception. It names that host only, never a wildcard or an address. Egress's own listener has one too, for
 * all names and addresses of its own. None is a CA, and none outlives its CA.
 */
import { addressBytes } from './address-bytes.ts';
import type { Authority } from './authority.ts';
import { distinguishedName, wholeSeconds } from './certificate.ts';
import type { Der } from './der.ts';
import * as extensions from './extensions.ts';
import { writeCertificatePem } from './pem.ts';

/**
 * Issues a leaf for `host`: a lower-case DNS name without a final dot, at most 253 characters. The leaf is
 * valid from 48 hours before `now` and for 7 days in all, both cut to the CA's own dates. Throws an `Error`
 * for any other host, and when the CA itself is not valid at `now`.
 */
export function issueLeaf(authority: Authority, host: string, now: Date): Leaf {
  if (!isDnsName(host)) throw new Error('a leaf is for one lower-case DNS name: no pattern, no address');
  return issue(authority, host, [host], now);
}

/**
 * Issues the leaf of a listener of ours, for each of its `names`: lower-case DNS names and IP addresses, the first DNS
 * name being its subject. Valid as `issueLeaf` says; throws as it does.
 */
export function issueListenerLeaf(authority: Authority, names: readonly string[], now: Date): Leaf {
  const hosts = names.filter((name) => addressBytes(name) === null);
  const [subject] = hosts;
  if (subject === undefined || !hosts.every(isDnsName))
    throw new Error('a listener has DNS names and addresses');
  return issue(authority, subject, names, now);
}

function issue(authority: Authority, subject: string, names: readonly string[], now: Date): Leaf {
  const { notBefore, notAfter } = decideValidity(authority, now.getTime());
  const certificate = authority.sign({
    subject: nameSubject(subject),
    notBefore,
    notAfter,
    extensions: [
      LEAF_CONSTRAINTS,
      LEAF_KEY_USAGE,
      SERVER_AUTHENTICATION,
      extensions.subjectAlternativeName(names, fitsCommonName(subject) ? undefined : 'critical'),
      authority.leafKey.keyIdentifierExtension,
      authority.keyIdentifierExtension,
    ],
  });
  return new Leaf(writeCertificatePem(certificate), authority.leafKey.pem, notBefore, notAfter);
}

class Leaf {
  /** The leaf alone: clients hold the CA already, and take no trust anchor from a handshake. */
  readonly certificatePem: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly #keyPem: string;

  constructor(certificatePem: string, keyPem: string, notBefore: Date, notAfter: Date) {
    this.certificatePem = certificatePem;
    this.#keyPem = keyPem;
    this.notBefore = notBefore;
    this.notAfter = notAfter;
  }

  /** The private key, PKCS#8. A getter over a private field, so that a printed leaf does not show it. */
  get keyPem(): string {
    return this.#keyPem;
  }
}

function decideValidity(authority: Authority, nowMs: number): { notBefore: Date; notAfter: Date } {
  const [startMs, endMs] = [authority.notBefore.getTime(), authority.notAfter.getTime()];
  // Said as what must hold, so that an invalid date is refused too.
  if (!(nowMs >= startMs && nowMs < endMs)) throw new Error('the egress CA is not valid now: rotate it');
  const backdatedMs = nowMs - BACKDATING_MS;
  return {
    notBefore: wholeSeconds(Math.max(backdatedMs, startMs)),
    notAfter: wholeSeconds(Math.min(backdatedMs + LIFETIME_MS, endMs)),
  };
}

function nameSubject(host: string): Der {
  return fitsCommonName(host) ? distinguishedName({ commonName: host }) : distinguishedName({});
}

/** X.520 allows a common name 64 characters. A longer host stands in the alternative name only. */
function fitsCommonName(host: string): boolean {
  return host.length <= 64;
}

/** A last label of digits makes an address of the whole in some spelling (127.0.0.1, 127.1, 2130706433). */
function isDnsName(host: string): boolean {
  return host.length <= 253 && DNS_NAME.test(host) && !ADDRESS_LIKE_END.test(host);
}

// As a type only: this file alone makes one.
export type { Leaf };

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const ADDRESS_LIKE_END = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

// A pod's clock may be behind, and a stolen leaf key should be worth little.
const BACKDATING_MS = 48 * 3_600_000;
const LIFETIME_MS = 7 * 24 * 3_600_000;

const LEAF_CONSTRAINTS = extensions.leafConstraints();
const LEAF_KEY_USAGE = extensions.leafKeyUsage();
const SERVER_AUTHENTICATION = extensions.serverAuthentication();
