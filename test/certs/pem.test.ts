import { expect, test } from 'vitest';
import { readCertificatePem, writeCertificatePem } from '../../certs/pem.ts';

const BLOCK = writeCertificatePem(Buffer.from('first certificate'));

test('every length is written in full lines of 64 and one shorter, without an empty line', () => {
  for (let length = 1; length <= 200; length += 1) {
    const der = Buffer.alloc(length, length);
    const [begin, ...rest] = writeCertificatePem(der).split('\n');
    const [end, final] = rest.splice(-2);
    expect([begin, end, final]).toEqual(['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----', '']);
    expect(rest.slice(0, -1).every((line) => line.length === 64)).toBe(true);
    expect(rest.at(-1)?.length).toBeGreaterThan(0);
    expect(rest.at(-1)?.length).toBeLessThanOrEqual(64);
    expect(readCertificatePem(writeCertificatePem(der))).toEqual([der]);
  }
});

test('blocks are read in order between comments, other blocks and Windows line ends', () => {
  const second = writeCertificatePem(Buffer.from('second certificate'));
  const other = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
  const text = `# one\n${BLOCK}${other}# two\n${second}`.replaceAll('\n', '\r\n');
  expect(readCertificatePem(text).map(String)).toEqual(['first certificate', 'second certificate']);
});

test.each([
  ['an empty text', ''],
  ['another kind of block', BLOCK.replaceAll('CERTIFICATE', 'PRIVATE KEY')],
  ['a block without its end', BLOCK.split('-----END')[0] ?? ''],
  ['a block that runs into the next', `${BLOCK.split('-----END')[0]}${BLOCK}`],
  ['a block with foreign characters', BLOCK.replace('Y2', 'Y*')],
  ['an empty block', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'],
])('%s is refused', (_name, text) => {
  expect(() => readCertificatePem(text)).toThrow(Error);
});
