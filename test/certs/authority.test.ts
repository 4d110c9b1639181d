import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

const NOW = new Date('2026-11-29T12:00:00.900Z');
const MATERIAL = makeAuthority({ name: 'Sallyport egress 1', now: NOW });

test('the CA signs itself, is a CA, and is valid from 48 hours before for ten years', () => {
  const certificate = new X509Certificate(MATERIAL.certificatePem);
  expect(certificate.subject).toBe('O=Sallyport egress 1\nCN=Sallyport egress 1');
  expect(certificate.issuer).toBe(certificate.subject);
  expect(certificate.ca).toBe(true);
  expect(certificate.checkIssued(certificate)).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  expect(certificate.validFromDate).toEqual(new Date('2026-11-27T12:00:00Z'));
  expect(certificate.validToDate).toEqual(new Date('2036-11-26T12:00:00Z'));
});

test('dates from 2050 on are written so that they read back', () => {
  const { certificatePem } = makeAuthority({ name: 'late', now: new Date('2049-12-01T00:00:00Z') });
  const certificate = new X509Certificate(certificatePem);
  expect(certificate.validFromDate).toEqual(new Date('2049-11-29T00:00:00Z'));
  expect(certificate.validToDate).toEqual(new Date('2059-11-29T00:00:00Z'));
});

test('serial numbers are positive, 16 bytes and differ', () => {
  const serials = Array.from({ length: 64 }, () => {
    return new X509Certificate(makeAuthority({ name: 'serial', now: NOW }).certificatePem).serialNumber;
  });
  expect(new Set(serials).size).toBe(serials.length);
  for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
});

test.each([
  ['one character', 'x'],
  ['64 characters', 'x'.repeat(64)],
  ['letters beyond ASCII', 'Fluchttür 1'],
])('a name of %s is taken', (_case, name) => {
  const certificate = new X509Certificate(makeAuthority({ name, now: NOW }).certificatePem);
  expect(certificate.toLegacyObject().subject).toMatchObject({ O: name, CN: name });
});

test.each([
  ['no character', ''],
  ['spaces only', '  '],
  ['65 characters', 'x'.repeat(65)],
])('a name of %s is refused', (_case, name) => {
  expect(() => makeAuthority({ name, now: NOW })).toThrow(/name of a CA/);
});

test('opening reads the dates and keeps the certificate as it is', () => {
  const authority = openAuthority(MATERIAL);
  expect(authority.certificatePem).toBe(MATERIAL.certificatePem);
  expect(authority.notBefore).toEqual(new Date('2026-11-27T12:00:00Z'));
  expect(authority.notAfter).toEqual(new Date('2036-11-26T12:00:00Z'));
});

test.each([
  [
    'the key of another CA',
    { privateKey: makeAuthority({ name: 'other', now: NOW }).privateKey },
    /belong together/,
  ],
  ['a key of another kind', { privateKey: generateKeyPairSync('ed25519').privateKey }, /belong together/],
  ['no certificate', { certificatePem: '' }, /no PEM certificate/],
  ['two certificates', { certificatePem: MATERIAL.certificatePem.repeat(2) }, /exactly one/],
  ['a leaf', issueLeaf(openAuthority(MATERIAL), 'a.example', NOW), /not a CA/],
])('opening with %s is refused', (_case, change, message) => {
  const { certificatePem, privateKey } = { ...MATERIAL, ...change };
  expect(() => openAuthority({ certificatePem, privateKey })).toThrow(message);
});

test('neither the material, an opened authority nor a leaf prints a private key', () => {
  const authority = openAuthority(MATERIAL);
  const leaf = issueLeaf(authority, 'a.example', NOW);
  const keyBody = leaf.keyPem.split('\n')[1] ?? leaf.keyPem;
  for (const value of [MATERIAL, authority, leaf]) {
    const shown = inspect(value, { depth: null, showHidden: true }) + JSON.stringify(value);
    expect(shown).not.toContain('PRIVATE KEY');
    expect(shown).not.toContain(keyBody);
  }
});
