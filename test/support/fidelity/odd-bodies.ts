/** JSON as nobody's serializer writes it, and streams as no provider splits them: made from a seed, right by their grammar. */

import type { Random } from '../random.ts';
import { pick, some } from './odd-call.ts';

/** A body with these fields, somewhere among others. */
export function oddBody(random: Random, fields: readonly string[]): string {
  const others = some(random, NAMES, 6).map(
    (name) => `${name}${space(random)}:${space(random)}${value(random, 3)}`,
  );
  const all = [...fields, ...others];
  for (let i = all.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    [all[i], all[j]] = [all[j] ?? '', all[i] ?? ''];
  }
  const padded = all.map((field) => space(random) + field + space(random));
  return `${space(random)}{${padded.join(',')}}${space(random)}`;
}

/** Any value, however deep. */
function value(random: Random, depth: number): string {
  const kind = random.below(depth > 0 ? 5 : 3);
  const inner = (): string => space(random) + value(random, depth - 1) + space(random);
  if (kind === 3) return `[${some(random, [0, 0, 0], 4).map(inner).join(',')}]`;
  if (kind === 4)
    return `{${some(random, NAMES, 4)
      .map((name) => `${name}:${inner()}`)
      .join(',')}}`;
  return pick(random, kind === 0 ? NUMBERS : TEXTS);
}

/** Events in every spelling that parsers take, none with a usage, an id or a retry in it. @param last line of the last event */
export function oddStream(random: Random, last: string): string {
  const end = pick(random, ['\n', '\r\n']);
  const events = Array.from({ length: 1 + random.below(8) }, () => {
    const data = `data:${pick(random, [' ', ''])}${oddBody(random, ['"choices":[]']).replace(/[\r\n]/g, ' ')}`;
    const before = some(
      random,
      [': a comment', ':', 'event: custom', 'unknown: field', 'identity: x', 'retryable: y'],
      2,
    );
    return [...before, data, '', ''].join(end);
  });
  return `${events.join('')}${last}${end}${end}`;
}

function space(random: Random): string {
  return pick(random, ['', '', '', ' ', '  ', '\n', '\t', '\r\n ']);
}

const NUMBERS = [
  '0',
  '-0',
  '1.0',
  '1e400',
  '-1E-400',
  '12345678901234567890123',
  '9007199254740993',
  '0.1000',
  '1E+2',
  'true',
  'false',
  'null',
];
const TEXTS = [
  '""',
  '"\\u0061\\u00e9"',
  '"\\ud83c\\udf89"',
  '"\\ud800"',
  '"漢字 🎉 é"',
  '"a\\/b\\\\"',
  '"\\u0000\\b\\f"',
  '"\\u2028\u2028"',
  '"</script>"',
  `"${'long '.repeat(300)}"`,
  '"\u007f"',
  '"{\\"model\\":\\"x\\"}"',
];
const NAMES = [
  '"x"',
  '"x"',
  '""',
  '"\\u0078"',
  '"metadata"',
  '"temperature"',
  '"__proto__"',
  '"constructor"',
  '"漢字"',
  '"messages"',
  '"a_field_of_tomorrow"',
  '"tools"',
  '"thinking"',
  '"store"',
];
