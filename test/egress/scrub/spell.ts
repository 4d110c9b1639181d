/** Spells a secret in every form that is looked for, as an origin would, and makes texts with such spellings in them. */
import fc from 'fast-check';

/** What a credential may hold: visible ASCII, with blanks inside. */
export const secretText = fc
  .tuple(
    fc.stringMatching(/^[!-~]{4,30}$/),
    fc.stringMatching(/^[ -~\t]{0,10}$/),
    fc.stringMatching(/^[!-~]{4}$/),
  )
  .map((parts) => parts.join(''));

/** One spelling of one form of a secret. */
export function spelled(secret: string): fc.Arbitrary<string> {
  return formOf(secret).chain((form) =>
    fc
      .array(fc.nat({ max: 9 }), { minLength: form.length, maxLength: form.length })
      .map((ways) => [...form].map((char, i) => spellChar(char, ways[i] as number)).join('')),
  );
}

/** The secret, or what base64 makes of it between other bytes, in one of its alphabets. */
function formOf(secret: string): fc.Arbitrary<string> {
  const coded = fc
    .tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), fc.boolean(), fc.boolean())
    .map(([before, after, url, padded]) => {
      const text = Buffer.from(`${before}${secret}${after}`).toString(url ? 'base64url' : 'base64');
      return padded ? text : text.replaceAll('=', '');
    });
  return fc.oneof(fc.constant(secret), fc.constant(secret.replaceAll(' ', '+')), coded);
}

/** Most often plain. */
function spellChar(char: string, way: number): string {
  const hex = char.charCodeAt(0).toString(16).padStart(2, '0');
  if (way === 6) return `%${hex}`;
  if (way === 7) return `%${hex.toUpperCase()}`;
  if (way === 8) return `\\u00${hex}`;
  if (way === 9 && '"\\/'.includes(char)) return `\\${char}`;
  return char;
}

/** Cuts a text at random places. */
export function cutAt(text: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => text.subarray(from, places[i] ?? text.length));
}
