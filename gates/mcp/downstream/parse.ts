/**
 * Reads what a client posted: JSON of bounded depth, in UTF-8. What is in it stays as it is; a key that would reach an
 * object's prototype is refused, since what is read is copied on its way.
 */
import { isTooDeep } from '../../json-depth.ts';

/** The value, or one line on what is wrong with the body. */
export function parseBody(body: Buffer): { readonly value: unknown } | string {
  const text = decode(body);
  if (text === null) return 'the body is not UTF-8';
  if (isTooDeep(text)) return 'the body is nested too deep';
  try {
    if (!MAY_REACH_PROTOTYPE.test(text)) return { value: JSON.parse(text) };
    return parseGuarded(text);
  } catch {
    return 'the body is not JSON';
  }
}

function parseGuarded(text: string): { readonly value: unknown } | string {
  let reaches = false;
  const value: unknown = JSON.parse(text, (name: string, each: unknown) => {
    reaches ||= name === '__proto__';
    return each;
  });
  return reaches ? 'a key is named __proto__' : { value };
}

function decode(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return null;
  }
}

/** The name as it is, or an escape that may write it. */
const MAY_REACH_PROTOTYPE = /__proto__|\\u00[56]/i;
