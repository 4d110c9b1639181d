import { describe, expect, it } from 'vitest';
import { formatTarget, parseTarget } from '../../../core-lite/network/target.ts';

/** UTF-8 bytes as Node's HTTP parser hands them on: one character a byte. */
const wire = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

describe('names', () => {
  it.each([
    ['open.test:443', 'open.test', 443],
    ['open.test:80', 'open.test', 80],
    ['open.test:1', 'open.test', 1],
    ['open.test:65535', 'open.test', 65_535],
    ['OPEN.Test:443', 'open.test', 443],
    ['a.b.c.wild.test:443', 'a.b.c.wild.test', 443],
    ['xn--bcher-kva.test:443', 'xn--bcher-kva.test', 443],
    ['r3---sn.test:443', 'r3---sn.test', 443],
    ['3com.test:443', '3com.test', 443],
    ['127.0.0.1.wild:443', '127.0.0.1.wild', 443],
    ['0x7f.test:443', '0x7f.test', 443],
    ['0xg:443', '0xg', 443],
    ['test:443', 'test', 443],
    ['constructor:443', 'constructor', 443],
    // Names like any other here; they are never reached, because what they resolve to is judged.
    ['localhost:443', 'localhost', 443],
    ['api.localhost:443', 'api.localhost', 443],
    [`${'a'.repeat(63)}.test:443`, `${'a'.repeat(63)}.test`, 443],
    [`${'abcdefg.'.repeat(31)}hijkl:443`, `${'abcdefg.'.repeat(31)}hijkl`, 443],
  ])('%s', (text, host, port) => {
    const target = parseTarget(text);
    expect(target).toMatchObject({ host, port, literal: false });
    expect(target && formatTarget(target)).toBe(text.toLowerCase());
  });
});

describe('addresses, in every spelling', () => {
  it.each([
    '127.0.0.1:443',
    '127.77.0.1:443',
    '8.8.8.8:443',
    '2130706433:443',
    '0177.0.0.1:443',
    '0177.0000.0000.0001:443',
    '017700000001:443',
    '0x7f.0.0.1:443',
    '0x7f000001:443',
    '0X7F000001:443',
    '0x7f.1:443',
    '127.1:443',
    '127.0.1:443',
    '127.0.0.257:443',
    '6425673729:443',
    '127.0.0.1.1:443',
    '0x:443',
    '0:443',
    '0.0.0.0:443',
    'a.0.1:443',
    'open.test.0x7f:443',
    '169.254.43518:80',
    '0251.0376.0251.0376:80',
    '[::1]:443',
    '[::]:443',
    '[FE80::1%25lo]:443',
    '[fe80::1%lo]:443',
    '[::ffff:127.0.0.1]:443',
    '[64:ff9b::a9fe:a9fe]:80',
    '[2001:0:4136:e378:8000:63bf:80ff:fffe]:443',
    '[1:2:3]:443',
    '[127.0.0.1]:443',
  ])('%s', (text) => {
    expect(parseTarget(text)?.literal).toBe(true);
  });
});

describe('what is no target', () => {
  const REFUSED: Record<string, readonly string[]> = {
    nothing: ['', ':', ':443', 'open.test', 'open.test:', '[]:443', '[::1]', '[::1]443'],
    'an address in a wrong place': [
      '127.0.0.1.:443',
      '2130706433.:443',
      '-1:443',
      '::1:443',
      '[v1.127.0.0.1]:443',
      '[::1:443',
      '::1]:443',
      '[open.test]:443',
      '%31%32%37.0.0.1:443',
      '127%2e0%2e0%2e1:443',
      wire('１２７.0.0.1:443'),
      wire('①②⑦.0.0.1:443'),
      wire('١٢٧.0.0.1:443'),
    ],
    'a byte that ends or hides a name': [
      'open.test\0.evil.test:443',
      'denied.test\0open.test:443',
      'open.test%00.evil.test:443',
      '%6fpen.test:443',
      'open.test :443',
      'open\t.test:443',
      ' open.test:443',
      'open.test\v:443',
      'open.test\r:443',
      'open.test\n:443',
      'denied.test\n.wild.test:443',
      'open.test:443\n',
      'open.test%0d%0aX-Injected:1:443',
      wire('op\u200ben.test:443'),
      wire('op\u00aden.test:443'),
      wire('\ufeffopen.test:443'),
    ],
    'a URL, or a part of one': [
      'https://open.test:443',
      'run:pw@open.test:443',
      'open.test:443@denied.test:443',
      'open.test\\@denied.test:443',
      'open.test/:443',
      'open.test:443/',
      'open.test:443?x',
      'open.test:443#@denied.test',
      'open.test;denied.test:443',
      'open.test,denied.test:443',
      '"open.test":443',
      '<script>alert(1)</script>.wild.test:443',
      '*:443',
      '*.wild.test:443',
    ],
    'a name with a bad label': [
      '.open.test:443',
      '.:443',
      'open..test:443',
      'open.test.:443',
      'x..wild.test:443',
      '.wild.test:443',
      '-open.test:443',
      'open-.test:443',
      'xn--:443',
      '__proto__:443',
      'under_score.test:443',
      `a${'b'.repeat(63)}.wild.test:443`,
      `${'abcdefg.'.repeat(31)}wild.test:443`,
      `${'abcdefg.'.repeat(31)}hijklm:443`,
      `${'a.'.repeat(2000)}wild.test:443`,
    ],
    'a name that is not ASCII': [
      'bücher.test:443',
      wire('bücher.test:443'),
      wire('оpen.test:443'),
      wire('open．test:443'),
      'open.teſt:443',
      wire('open.teſt:443'),
      '\u212aelvin.test:443',
      wire('wİld.wild.test:443'),
    ],
    'a port that is not plain': [
      'open.test:0443',
      'open.test:+443',
      'open.test:-443',
      'open.test:443abc',
      'open.test:https',
      'open.test:443 ',
      'open.test: 443',
      'open.test:65536',
      'open.test:65979',
      'open.test:4294967739',
      'open.test:0',
      'open.test:00',
      'open.test:0x1bb',
      'open.test:4.43e2',
      'open.test:443.0',
      'open.test:443:443',
      `open.test:${'4'.repeat(5000)}`,
      'open.test:４４３',
      wire('open.test:４４３'),
      'open.test:443\0',
    ],
  };

  const rows = Object.entries(REFUSED).flatMap(([why, texts]) =>
    texts.map((text): [string, string] => [why, text]),
  );
  it.each(rows)('%s: %j', (_, text) => {
    expect(parseTarget(text)).toBeNull();
  });
});
