/**
 * Whether an error has words of the model in it: some providers give back what it wrote where that was not as it should
 * be. In doubt it has: no error says as much of itself.
 */
import { asObject } from './usage.ts';

/**
 * @param text one JSON text, or the beginning of one
 * @param data what it is; `undefined` where it was not parsed
 */
export function holdsWords(text: string, data: unknown): boolean {
  if (!/^[[{]/.test(text)) return false;
  return text.length > MAX_ERROR_CHARS || nameWords(data).some(says);
}

/** Where it is known to be. */
export function nameWords(data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data.flatMap(nameWords);
  const fields = asObject(data) ?? {};
  const holders = [fields, asObject(fields['error']), asObject(fields['response'])];
  return holders.flatMap((each) => [each?.['failed_generation'], each?.['output']]);
}

/** Whether there is a text in it, or anything true, beside whose it is. */
export function says(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return value === true || (typeof value === 'string' && value !== '');
  return Object.entries(value).some(([name, inner]) => name !== 'role' && says(inner));
}

/** Of a message with its kind and a hint. */
export const MAX_ERROR_CHARS = 2 * 1024;
