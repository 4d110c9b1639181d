import { expect, test } from 'vitest';
import {
  bitString,
  decode,
  encode,
  octetString,
  partsOf,
  sequence,
  time,
  utf8String,
} from '../../certs/der.ts';

test.each([
  [
    'that looks like another value inside, as one key in 256 does',
    bitString(encode(octetString(Buffer.alloc(63, 7)))),
  ],
  ['that looks like nothing', bitString(Buffer.alloc(65, 0xff))],
])('a part with a bit string %s is written again byte for byte', (_case, value) => {
  const whole = decode(encode(sequence(value, utf8String('ü'))));
  expect(partsOf(whole).map(encode)).toEqual([encode(value), Buffer.from('0c02c3bc', 'hex')]);
});

test.each([
  ['nothing', ''],
  ['a value that is cut off', '040201'],
  ['bytes after the value', '04010100'],
  ['a length longer than it need be', '04810101'],
  ['a length left open', '30800401010000'],
])('%s is refused', (_case, hex) => {
  expect(() => decode(Buffer.from(hex, 'hex'))).toThrow(Error);
});

test.each([
  ['2049-12-31T23:59:59Z', '170d3439313233313233353935395a'],
  ['2050-01-01T00:00:00Z', '180f32303530303130313030303030305a'],
])('%s is written in the form that RFC 5280 asks for', (moment, hex) => {
  expect(encode(time(new Date(moment))).toString('hex')).toBe(hex);
});
