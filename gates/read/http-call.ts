/** Reads the body of a tool call: one JSON object with `input` and nothing else. */
import { isObject, readObject } from './json-object.ts';

/** The input, or one line on what is wrong with the body. */
export function readInput(body: Buffer): { readonly input: Readonly<Record<string, unknown>> } | string {
  const read = readObject(body);
  if (typeof read === 'string') return read;
  const { value } = read;
  if (Object.keys(value).some((name) => name !== 'input')) return 'the body has a field beside "input"';
  const input = value['input'];
  return isObject(input) ? { input } : '"input" is not an object';
}
