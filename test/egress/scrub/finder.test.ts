/**
 * The finder against an oracle: a regular expression of every spelling, tried at every place. Secrets and texts are of few
 * characters, those that escapes are made of, so that readings overlap in every way.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { Finder } from '../../../egress/scrub/finder.ts';
import { formsOf } from '../../../egress/scrub/forms.ts';
import { cutAt } from './spell.ts';

/** Which bytes of a text belong to a form. */
function oracle(secret: string, text: string): string {
  const of = (char: string) => {
    const hex = char.charCodeAt(0).toString(16).padStart(2, '0');
    const escaped = [...hex].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
    const short = '"\\/'.includes(char) ? `|\\\\\\x${hex}` : '';
    return `(?:\\x${hex}|%${escaped}|\\\\u00${escaped}${short})`;
  };
  const whole = new RegExp(`^${[...secret].map(of).join('')}$`);
  const masked = [...text];
  for (let at = 0; at < text.length; at++) {
    // A longer reading may begin where a shorter one does: every length is tried.
    const longest = Math.min(text.length, at + 6 * secret.length);
    for (let end = longest; end >= at + secret.length; end--) {
      if (whole.test(text.slice(at, end))) masked.fill('*', at, end);
    }
  }
  return masked.join('');
}

function find(secret: string, pieces: readonly Buffer[]): string {
  const finder = new Finder(formsOf([new Secret(secret)]));
  const found = pieces.flatMap((piece) => [...finder.scan(piece, 0, piece.length)]);
  const masked = [...Buffer.concat(pieces).toString('latin1')];
  for (let i = 0; i < found.length; i += 2) masked.fill('*', found[i], found[i + 1]);
  return masked.join('');
}

describe('the finder', () => {
  const awkward = fc.string({ unit: fc.constantFrom(...'%\\u0025c/F"'), minLength: 8, maxLength: 12 });
  const cases = awkward.chain((secret) => {
    const char = fc.nat({ max: secret.length - 1 }).map((i) => secret[i] as string);
    const unit = fc.oneof(
      char,
      char.map((each) => `%${each.charCodeAt(0).toString(16)}`),
      fc.constantFrom('%', '\\', '\\u00', '%2', '25', '5c', '\\/', '\\\\'),
      fc.nat({ max: 8 }).map((length) => secret.slice(0, length)),
      fc.constant(secret),
      fc.constant(encodeURIComponent(secret)),
      fc.constant(JSON.stringify(secret).slice(1, -1)),
    );
    return fc.tuple(
      fc.constant(secret),
      fc.array(unit, { maxLength: 10 }),
      fc.array(fc.nat(), { maxLength: 5 }),
    );
  });

  it('finds what a regular expression finds, wherever the text is cut', () => {
    fc.assert(
      fc.property(cases, ([secret, units, cuts]) => {
        const text = units.join('');
        expect(find(secret, cutAt(Buffer.from(text, 'latin1'), cuts))).toBe(oracle(secret, text));
      }),
      { numRuns: 300 },
    );
  });

  it('follows the beginnings of many secrets at once', () => {
    const secrets = Array.from({ length: 40 }, (_, i) => `secret-number-${i + 10}`);
    const finder = new Finder(formsOf(secrets.map((secret) => new Secret(secret))));
    const text = Buffer.from(secrets.map((secret) => `%73${secret.slice(1)}`).join(','));
    expect(finder.scan(text, 0, text.length).length).toBe(2 * secrets.length);
  });
});
