/**
 * What the finder does for a text must say nothing of a secret to whoever has less than a long piece of it. What it reads is
 * the same for every secret; what it compares is counted here. And long texts, of which it reads eight bytes at a time.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { Finder } from '../../../egress/scrub/finder.ts';
import { formsOf } from '../../../egress/scrub/forms.ts';
import { cutAt, secretText, spelled } from './spell.ts';

const SECRETS = [
  'ghp_R7kXm2QvZt9LbWc4HnYs8DfJp5GaTe3U',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.5mGvXq0Bz',
  'https://user:p%40ss%2Fw0rd@host.example/%7Epath',
  '{"key":"-----BEGIN\\nMIIEvQIBADANBg\\n"}',
];
/** Fewer than the finder looks for at once. */
const PIECE = 7;
const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(2, '0');
const SPELLINGS: readonly (readonly [string, (char: string, i: number) => string])[] = [
  ['plain', (char) => char],
  ['%XX', (char) => `%${hex(char)}`],
  ['\\u00XX', (char) => `\\u00${hex(char)}`],
  ['both ways', (char, i) => (i % 2 ? char : `%${hex(char)}`)],
  ['every way', (char, i) => [char, `%${hex(char)}`, `\\u00${hex(char)}`][i % 3] as string],
];

function compare(secret: string, text: string) {
  const finder = new Finder(formsOf([new Secret(secret)]));
  const bytes = Buffer.from(text);
  return { found: finder.scan(bytes, 0, bytes.length).length / 2, compared: finder.compared };
}

/** Every piece of a text, of a length. */
function piecesOf(text: string, length: number): string[] {
  return Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
}

describe.each(SECRETS)('of %s', (secret) => {
  const forms = [
    secret,
    ...[0, 1, 2].map((before) => Buffer.from('x'.repeat(before) + secret).toString('base64')),
  ];

  it.each(SPELLINGS)('no piece is compared, %s', (_name, spell) => {
    for (const form of forms) {
      for (let length = 1; length <= PIECE; length++) {
        const spelledPieces = piecesOf(form, length).map((piece) => [...piece].map(spell).join(''));
        // Alone, and many times.
        const text = spelledPieces.map((piece) => `${piece}~`.repeat(20)).join('');
        expect(compare(secret, text)).toEqual({ found: 0, compared: 0 });
        const sorted = [...spelledPieces]
          .sort()
          .map((piece) => `${piece}\n`)
          .join('');
        expect(compare(secret, sorted.repeat(5))).toEqual({ found: 0, compared: 0 });
      }
    }
  });

  it.each(SPELLINGS)('however long its beginning is, it is compared with nothing, %s', (_name, spell) => {
    const known = [...secret.slice(0, -PIECE - 1)].map(spell).join('');
    const control = [...secret.slice(0, -PIECE - 1)].map((_, i) => spell('~', i)).join('');
    expect(compare(secret, `${known}!`.repeat(50)).compared).toBeLessThan(
      compare(secret, known).compared * 50 + 1,
    );
    expect(compare(secret, `${control}!`.repeat(50)).compared).toBe(0);
  });

  it.each(SPELLINGS)('the whole is found, %s', (_name, spell) => {
    for (const padding of ['', '.'.repeat(20), 'lorem ipsum '.repeat(40)]) {
      const text = `${padding}<${[...secret].map(spell).join('')}>${padding}`;
      expect(compare(secret, text).found).toBe(1);
    }
  });
});

describe('in long texts', () => {
  const padding = fc
    .tuple(fc.nat({ max: 300 }), fc.string({ maxLength: 10 }))
    .map(([length, end]) => 'lorem ipsum dolor, sit amet\n'.repeat(12).slice(0, length) + end);

  it.each(['%', '%4', '\\', '\\u00', '%%', '\\\\', '%41'])('a secret that ends in %j is found', (end) => {
    const secret = `the-secret-of-the-house${end}`;
    for (let length = 0; length < 100; length++) {
      const text = `${'.'.repeat(length)}${secret}${'41'.repeat(length % 9)}`;
      expect(compare(secret, text).found).toBe(1);
    }
  });

  it('every form is found and masked whole, wherever it stands and wherever the text is cut', () => {
    const cases = secretText.chain((secret) =>
      fc.tuple(
        fc.constant(secret),
        padding,
        spelled(secret),
        padding,
        fc.array(fc.nat({ max: 900 }), { maxLength: 4 }),
      ),
    );
    fc.assert(
      fc.property(cases, ([secret, before, form, after, cuts]) => {
        const finder = new Finder(formsOf([new Secret(secret)]));
        const text = Buffer.from(before + form + after);
        const found = cutAt(text, cuts).flatMap((piece) => [...finder.scan(piece, 0, piece.length)]);
        expect(found.length).toBeGreaterThan(0);
        for (let i = 0; i < found.length; i += 2) text.fill('*', found[i], found[i + 1]);
        expect(new Finder(formsOf([new Secret(secret)])).scan(text, 0, text.length)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });
});
