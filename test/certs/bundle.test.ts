import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { makeAuthority } from '../../certs/authority.ts';
import { trustBundlePem } from '../../certs/bundle.ts';
import { readCertificatePem, writeCertificatePem } from '../../certs/pem.ts';

const NOW = new Date('2026-11-29T12:00:00Z');
const CA = makeAuthority({ name: 'egress 1', now: NOW });
const NEXT_CA = makeAuthority({ name: 'egress 2', now: NOW });
const EXTRA = makeAuthority({ name: 'company root', now: NOW });
const PUBLIC_COUNT = new Set(rootCertificates).size;

test('the bundle holds the public roots, the extra roots and the CA, and each parses', () => {
  const certificates = parse(trustBundlePem(CA.certificatePem, [EXTRA.certificatePem]));
  expect(certificates).toHaveLength(PUBLIC_COUNT + 2);
  expect(certificates.slice(-2).map((one) => one.subject)).toEqual([
    'O=company root\nCN=company root',
    'O=egress 1\nCN=egress 1',
  ]);
});

test('the text ends in one newline and has no empty line', () => {
  const text = trustBundlePem(CA.certificatePem);
  expect(text).toMatch(/-----END CERTIFICATE-----\n$/);
  expect(text).not.toContain('\n\n');
});

test('no certificate stands twice, however it is spelled', () => {
  const [publicRoot = ''] = rootCertificates;
  const respelled = `# the CA\r\n${CA.certificatePem.replaceAll('\n', '\r\n')}`;
  const text = trustBundlePem(CA.certificatePem.repeat(2), [publicRoot, respelled, EXTRA.certificatePem]);
  const certificates = parse(text);
  expect(certificates).toHaveLength(PUBLIC_COUNT + 2);
  expect(new Set(certificates.map((one) => one.fingerprint256)).size).toBe(certificates.length);
});

test('a text may hold several certificates, as both generations during a rotation', () => {
  const text = trustBundlePem(CA.certificatePem + NEXT_CA.certificatePem);
  expect(text.endsWith(CA.certificatePem + NEXT_CA.certificatePem)).toBe(true);
});

test('a private key that stands beside a root does not get into the bundle', () => {
  const key = EXTRA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(trustBundlePem(CA.certificatePem, [key + EXTRA.certificatePem])).not.toContain('PRIVATE KEY');
});

test.each([
  ['a CA of no certificate', '', []],
  ['an extra root of no certificate', CA.certificatePem, ['# nothing here']],
  ['bytes that are no certificate', CA.certificatePem, [writeCertificatePem(Buffer.from('no certificate'))]],
])('%s is refused', (_case, caPem, roots) => {
  expect(() => trustBundlePem(caPem, roots)).toThrow(Error);
});

function parse(text: string): readonly X509Certificate[] {
  return readCertificatePem(text).map((der) => new X509Certificate(der));
}
