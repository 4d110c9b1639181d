import { describe, expect, it } from 'vitest';
import {
  formatHostPattern,
  HostPattern,
  HostPatternFault,
  matchesBinding,
  matchesHost,
  matchesTarget,
  parseHostPattern,
} from '../../../core-lite/network/host-pattern.ts';

function pattern(text: string): HostPattern {
  const parsed = parseHostPattern(text);
  if (parsed instanceof HostPattern) return parsed;
  throw new TypeError(`${text}: ${parsed.message}`);
}

describe('which hosts a pattern covers', () => {
  it.each<[string, string, boolean]>([
    ['open.test', 'open.test', true],
    ['open.test', 'sub.open.test', false],
    ['open.test', 'open.test.evil.test', false],
    ['open.test', 'openxtest', false],
    ['open.test', 'notopen.test', false],
    ['open.test', 'test', false],
    ['*.wild.test', 'a.wild.test', true],
    ['*.wild.test', 'a.b.c.wild.test', true],
    ['*.wild.test', 'wild.test', false],
    ['*.wild.test', '.wild.test', false],
    ['*.wild.test', 'evilwild.test', false],
    ['*.wild.test', 'x.evilwild.test', false],
    ['*.wild.test', 'awildxtest', false],
    ['*.wild.test', 'a.wild.test.evil.test', false],
    ['*.test', 'a.test', true],
    ['*.test', 'test', false],
    ['constructor', 'constructor', true],
    ['open.test', 'constructor', false],
  ])('%s over %s: %s', (text, host, covered) => {
    expect(matchesHost(pattern(text), host)).toBe(covered);
  });
});

describe('which ports a pattern covers', () => {
  it.each<[string, number, boolean, boolean]>([
    ['a.test', 443, true, true],
    ['a.test', 80, true, false],
    ['a.test', 8443, false, false],
    ['a.test:8443', 8443, true, true],
    ['a.test:8443', 443, false, false],
    ['a.test:80', 80, true, true],
    ['a.test:80', 443, false, false],
    ['b.test', 443, false, false],
  ])('%s at %d: an entry %s, a binding %s', (text, port, entry, binding) => {
    expect(matchesTarget(pattern(text), 'a.test', port)).toBe(entry);
    expect(matchesBinding(pattern(text), 'a.test', port)).toBe(binding);
  });
});

describe('the one spelling', () => {
  it.each([
    'a.test',
    '*.a.test',
    'a.test:8443',
    '*.a.test:1',
    '*.com',
    'localhost',
    'xn--bcher-kva.test',
    '127.0.0.1.wild',
    `*.${'a.'.repeat(126)}b`,
  ])('%s is written as it is read', (text) => {
    expect(formatHostPattern(pattern(text))).toBe(text);
  });

  it.each<[text: string, defect: RegExp, suggestion: string | null]>([
    ['', /empty/, null],
    ['*', /bare \*/, null],
    ['*.', /bare \*/, null],
    ['*:443', /bare \*/, null],
    ['A.Test', /capitals/, 'a.test'],
    ['*.A.test:8443', /capitals/, '*.a.test:8443'],
    ['a.test.', /dot/, 'a.test'],
    ['a.test.:443', /dot/, 'a.test:443'],
    ['.a.test', /dot/, '*.a.test'],
    ['bücher.test', /ASCII/, 'xn--bcher-kva.test'],
    ['*.Bücher.test', /ASCII/, '*.xn--bcher-kva.test'],
    ['ａ.test', /ASCII/, 'a.test'],
    ['https://a.test', /scheme/, 'a.test'],
    ['https://A.test:8443/v1?x#y', /scheme/, 'a.test:8443'],
    ['ftp://a.test', /scheme/, null],
    ['a.test/v1', /path/, 'a.test'],
    ['a.test\\v1', /path/, null],
    ['user@a.test', /user/, null],
    [' a.test', /white space/, 'a.test'],
    ['a.test\n', /white space/, 'a.test'],
    ['a. test', /white space/, null],
    ['a.*.test', /first label/, null],
    ['a*.test', /first label/, null],
    ['*a.test', /first label/, null],
    ['**.a.test', /first label/, null],
    ['*.*.test', /first label/, null],
    ['127.0.0.1', /IP address/, null],
    ['127.0.0.1:443', /IP address/, null],
    ['127.1', /IP address/, null],
    ['2130706433', /IP address/, null],
    ['0x7f000001', /IP address/, null],
    ['*.0.1', /IP address/, null],
    ['１２７.0.0.1', /IP address/, null],
    ['::1', /IP address/, null],
    ['[::1]', /IP address/, null],
    ['[::1]:443', /IP address/, null],
    ['10.0.0.0/8', /path/, null],
    ['a.test:0', /port/, null],
    ['a.test:0443', /port/, null],
    ['a.test:65536', /port/, null],
    ['a.test:', /port/, null],
    ['a.test:https', /port/, null],
    ['a..test', /host name/, null],
    ['-a.test', /host name/, null],
    ['a_b.test', /host name/, null],
    [`${'a'.repeat(64)}.test`, /host name/, null],
    [`${'a.'.repeat(130)}test`, /longer/, null],
    ['a.test\0', /host name/, null],
  ])('%j is a fault', (text, defect, suggestion) => {
    const fault = parseHostPattern(text);
    expect(fault).toBeInstanceOf(HostPatternFault);
    expect(fault).toMatchObject({ message: expect.stringMatching(defect), suggestion });
    if (suggestion !== null) expect(formatHostPattern(pattern(suggestion))).toBe(suggestion);
  });

  it('is told within a moment, however long the text', () => {
    const startedAt = performance.now();
    for (const text of [
      'a.'.repeat(50_000),
      '*'.repeat(100_000),
      `${'a'.repeat(100_000)}:`,
      '-'.repeat(100_000),
    ]) {
      expect(parseHostPattern(text)).toBeInstanceOf(HostPatternFault);
    }
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
