/** Variables as text, read back by those who will read them: a real shell, and Node's own reader of such files. */
import { execFileSync } from 'node:child_process';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnwritableValue, writeDotenv, writeShell } from '../../pod/write-variables.ts';

const SEED = 20_261_129;
/** Much of what a shell or a reader of files might stumble over, and anything else. */
const odd = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "'",
      '"',
      '\\',
      '$',
      '`',
      '#',
      '\n',
      '\r',
      '\t',
      ' ',
      '=',
      '%',
      '!',
      '*',
      '~',
      '{',
      '(',
      ';',
      '&',
      '|',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 30,
});
const values = (count: number): string[] => fc.sample(odd, { numRuns: count, seed: SEED });

describe('for a shell', () => {
  it('every value arrives as it is, and none is run', () => {
    const clean = [...values(400), "'; touch /nonexistent/x; '", '$(exit 3)', '-n', '', "'"]
      .map((text) => text.replaceAll('\0', ''))
      .filter((text) => text.isWellFormed());
    const variables = Object.fromEntries(clean.map((text, place) => [`V${place}`, text]));
    const lines = writeShell(variables) as string[];
    const input = `set -eu\n${lines.join('\n')}\nexec env -0\n`;
    const out = execFileSync('sh', { input, env: { PATH: process.env['PATH'] ?? '' } }).toString();
    const read = Object.fromEntries(
      out.split('\0').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    for (const [name, text] of Object.entries(variables)) expect(read[name]).toBe(text);
  });

  it('has none for a NUL, and no name that is no name', () => {
    expect(writeShell({ A: 'x', B: 'a\0b' })).toEqual(new UnwritableValue('B'));
    for (const name of ['', '1A', 'A B', 'A-B', 'A=B', 'A;B', 'Ä', 'A\nB'])
      expect(writeShell({ [name]: 'x' })).toBeInstanceOf(UnwritableValue);
  });
});

describe('for a file of lines', () => {
  it('a value is the same to a reader that takes quotes and to one that does not, or it is refused', () => {
    const plain = fc.string({ unit: fc.constantFrom(...'aZ09 :/@%+=-_.,|[]<>(){}~^?*&;!'), maxLength: 20 });
    let written = 0;
    fc.assert(
      fc.property(fc.oneof(odd, plain), (text) => {
        const lines = writeDotenv({ A: 'before', B: text, C: 'behind' });
        if (lines instanceof UnwritableValue) return;
        written += 1;
        // Docker takes the rest of the line to the letter.
        expect(lines[1]).toBe(`B=${text}`);
        expect(lines).toHaveLength(3);
        expect(parseEnv(lines.join('\n'))).toEqual({ A: 'before', B: text, C: 'behind' });
      }),
      { numRuns: 3_000, seed: SEED },
    );
    expect(written).toBeGreaterThan(500);
  });

  it.each(['a b', 'http://u:p%20@h:1', '-Dx=a|[::1] -Dy=', ''])('%j is written', (text) => {
    expect(writeDotenv({ A: text })).toEqual([`A=${text}`]);
  });

  it.each(['a#b', 'a$b', '"a"', "it's", 'a\\b', 'a\nb', ' a', 'a ', '`a`', 'ä'])('%j is refused', (text) => {
    expect(writeDotenv({ A: 'x', B: text })).toEqual(new UnwritableValue('B'));
  });
});
