import { createPrivateKey, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf, issueListenerLeaf } from '../../certs/leaf.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = new Date('2026-11-29T12:00:00.900Z');
const MATERIAL = makeAuthority({ name: 'Sallyport egress 1', now: new Date(NOW.getTime() - 100 * DAY_MS) });
const AUTHORITY = openAuthority(MATERIAL);
const CA = new X509Certificate(MATERIAL.certificatePem);

test('a leaf names its host, serves TLS only, and is issued by the CA', () => {
  const leaf = issueLeaf(AUTHORITY, 'api.example.com', NOW);
  const certificate = new X509Certificate(leaf.certificatePem);
  expect(certificate.subject).toBe('CN=api.example.com');
  expect(certificate.subjectAltName).toBe('DNS:api.example.com');
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect(certificate.ca).toBe(false);
  expect(certificate.issuer).toBe(CA.subject);
  expect(certificate.checkIssued(CA)).toBe(true);
  expect(certificate.verify(CA.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(leaf.keyPem))).toBe(true);
  expect(leaf.certificatePem.match(/BEGIN/g)).toHaveLength(1);
});

test('the leaves of one opened authority share a key; the CA and another opening have others', () => {
  const [first, second, other] = [
    issueLeaf(AUTHORITY, 'a.example', NOW),
    issueLeaf(AUTHORITY, 'b.example', NOW),
    issueLeaf(openAuthority(MATERIAL), 'a.example', NOW),
  ];
  expect(second.keyPem).toBe(first.keyPem);
  expect(other.keyPem).not.toBe(first.keyPem);
  expect(CA.checkPrivateKey(createPrivateKey(first.keyPem))).toBe(false);
});

test.each([
  ['one label', 'localhost', true],
  ['one character', 'a', true],
  ['an underscore', '_sip.my_host.example', true],
  ['digits in front', '1.2.3.example', true],
  ['an internationalised name', 'xn--bcher-kva.example', true],
  ['63 characters', longHost(63), true],
  ['64 characters', longHost(64), true],
  ['65 characters', longHost(65), false],
  ['85 characters, where the base64 lines of a PEM may end evenly', longHost(85), false],
  ['253 characters', longHost(253), false],
])('a host of %s gets a leaf', (_case, host, inCommonName) => {
  const certificate = new X509Certificate(issueLeaf(AUTHORITY, host, NOW).certificatePem);
  expect(certificate.checkHost(host)).toBe(host);
  expect(certificate.checkHost(`x.${host}`)).toBeUndefined();
  // Node has no text for the empty name.
  expect(certificate.subject).toBe(inCommonName ? `CN=${host}` : undefined);
});

test.each([
  ['nothing', ''],
  ['a wildcard', '*.example.com'],
  ['a lone asterisk', '*'],
  ['an asterisk inside', 'a*b.example'],
  ['upper case', 'API.example.com'],
  ['a final dot', 'api.example.com.'],
  ['an empty label', 'api..example.com'],
  ['a hyphen at a label’s edge', 'api-.example.com'],
  ['a label of 64 characters', `${'a'.repeat(64)}.example`],
  ['254 characters', longHost(254)],
  ['letters beyond ASCII', 'bücher.example'],
  ['a line end', 'api.example.com\n'],
  ['a null byte', 'api.example.com\0.evil.example'],
  ['a port', 'api.example.com:443'],
  ['a list', 'a.example,DNS:b.example'],
  ['an IPv4 address', '127.0.0.1'],
  ['a short IPv4 address', '127.1'],
  ['an IPv4 address as a number', '2130706433'],
  ['an IPv4 address in hexadecimal', '0x7f000001'],
  ['an IPv6 address', '::1'],
  ['an IPv6 address in brackets', '[::1]'],
])('a host of %s is refused', (_case, host) => {
  expect(() => issueLeaf(AUTHORITY, host, NOW)).toThrow(/one lower-case DNS name/);
});

const START_MS = AUTHORITY.notBefore.getTime();
const END_MS = AUTHORITY.notAfter.getTime();
const WEEK_MS = 7 * DAY_MS;

test.each([
  ['in mid-life', START_MS + 100 * DAY_MS, START_MS + 98 * DAY_MS, START_MS + 105 * DAY_MS],
  ['with a part of a second', START_MS + 100 * DAY_MS + 999, START_MS + 98 * DAY_MS, START_MS + 105 * DAY_MS],
  ['from a brand new CA', START_MS + 2 * DAY_MS, START_MS, START_MS + WEEK_MS],
  ['by a clock behind the CA’s maker', START_MS + HOUR_MS, START_MS, START_MS + HOUR_MS + 5 * DAY_MS],
  ['near the CA’s end', END_MS - 3 * DAY_MS, END_MS - 5 * DAY_MS, END_MS],
  ['in the CA’s last second', END_MS - 1, END_MS - 2 * DAY_MS - 1000, END_MS],
])('a leaf issued %s is backdated, short and inside its CA', (_case, nowMs, notBeforeMs, notAfterMs) => {
  const leaf = issueLeaf(AUTHORITY, 'a.example', new Date(nowMs));
  const certificate = new X509Certificate(leaf.certificatePem);
  expect([leaf.notBefore, leaf.notAfter]).toEqual([new Date(notBeforeMs), new Date(notAfterMs)]);
  expect([certificate.validFromDate, certificate.validToDate]).toEqual([leaf.notBefore, leaf.notAfter]);
  expect(leaf.notAfter.getTime() - leaf.notBefore.getTime()).toBeLessThanOrEqual(WEEK_MS);
});

test.each([
  ['before the CA begins', START_MS - 1],
  ['when the CA has ended', END_MS],
  ['at no time at all', Number.NaN],
])('no leaf is issued %s', (_case, nowMs) => {
  expect(() => issueLeaf(AUTHORITY, 'a.example', new Date(nowMs))).toThrow(/not valid now/);
});

test('a leaf from a CA made in the same moment nests in it', () => {
  const fresh = openAuthority(makeAuthority({ name: 'fresh', now: NOW }));
  const leaf = issueLeaf(fresh, 'a.example', NOW);
  expect(leaf.notBefore).toEqual(fresh.notBefore);
});

// The runner's time limit is all the check of the speed there is: a time asserted here would measure the
// machine.
test('3,000 leaves of hosts of all lengths parse, verify and differ', () => {
  const serials = new Set<string>();
  for (let index = 0; index < 3000; index += 1) {
    const host = longHost(1 + (index % 253));
    const certificate = new X509Certificate(issueLeaf(AUTHORITY, host, NOW).certificatePem);
    if (!certificate.verify(CA.publicKey) || certificate.checkHost(host) !== host)
      expect.fail(`host ${host}`);
    serials.add(certificate.serialNumber);
  }
  expect(serials.size).toBe(3000);
});

/** A host of exactly this many characters, in labels of at most 50. */
function longHost(length: number): string {
  const characters = Array.from({ length }, (_, index) => (index % 51 === 50 ? '.' : 'a'));
  if (characters.at(-1) === '.') characters[length - 2] = '.';
  if (characters.at(-1) === '.') characters[length - 1] = 'a';
  return characters.join('');
}

test('the leaf of a listener names all its names and addresses', () => {
  const names = ['127.0.0.1', 'localhost', 'egress.example', '::1', '2001:db8::8:0:1', '::ffff:10.0.0.1'];
  const certificate = new X509Certificate(issueListenerLeaf(AUTHORITY, names, NOW).certificatePem);
  expect(certificate.subject).toBe('CN=localhost');
  for (const name of ['localhost', 'egress.example']) expect(certificate.checkHost(name)).toBe(name);
  for (const name of names.filter((each) => /[.:]\d/.test(each) || each === '::1'))
    expect(certificate.checkIP(name)).toBe(name);
  expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
  expect(certificate.checkHost('x.localhost')).toBeUndefined();
});

test.each([[['127.0.0.1']], [[]], [['localhost', '*.a.example']], [['UPPER.example']]])(
  'a listener of %j gets none',
  (names) => {
    expect(() => issueListenerLeaf(AUTHORITY, names, NOW)).toThrow('DNS names and addresses');
  },
);
