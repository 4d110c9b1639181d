import { describe, expect, it } from 'vitest';
import { isFault } from '../../../core-lite/errors.ts';
import { parseHostsFile } from '../../../core-lite/network/hosts-file.ts';

describe('a hosts file', () => {
  it.each<[string, string, Record<string, string[]>]>([
    ['nothing', '', {}],
    [
      'comments and blank lines',
      '# all\n\n  \t\n127.0.0.1 a.test # here\n#127.0.0.2 b.test',
      { 'a.test': ['127.0.0.1'] },
    ],
    ['several names', '10.0.0.1\ta.test  b.test', { 'a.test': ['10.0.0.1'], 'b.test': ['10.0.0.1'] }],
    ['several addresses', '10.0.0.1 a.test\n::1 a.test\n10.0.0.1 a.test', { 'a.test': ['10.0.0.1', '::1'] }],
    ['capitals and CRLF', '10.0.0.1 A.Test\r\n', { 'a.test': ['10.0.0.1'] }],
    ['the spelling of an address', '2001:DB8:0::1 a.test', { 'a.test': ['2001:db8::1'] }],
    ['the name of an object property', '10.0.0.1 constructor', { constructor: ['10.0.0.1'] }],
  ])('with %s', (_, text, expected) => {
    expect(Object.fromEntries(parseHostsFile(text))).toEqual(expected);
  });

  it.each<[string, RegExp]>([
    ['10.0.0.1 a.test\na.test 10.0.0.1', /line 2: "a.test" is not an IP address/],
    ['10.0.0.1', /line 1: 10.0.0.1 has no name/],
    ['10.0.0.1 # a.test', /line 1: 10.0.0.1 has no name/],
    ['10.0.0.1 *.a.test', /line 1: "\*.a.test" is not a host name/],
    ['10.0.0.1 a.test.', /line 1: "a.test." is not a host name/],
    ['10.0.0.1 10.0.0.2', /line 1: "10.0.0.2" is not a host name/],
    ['010.0.0.1 a.test', /line 1/],
    ['127.1 a.test', /line 1/],
    ['fe80::1%lo a.test', /line 1/],
    ['10.0.0.1 a_b.test\n\nx', /line 1: .*; line 3: /],
  ])('%j is a fault that names its lines', (text, message) => {
    const matches = (error: unknown) => isFault(error, 'config_invalid') && message.test(error.message);
    expect(() => parseHostsFile(text)).toThrow(expect.toSatisfy(matches));
  });
});
