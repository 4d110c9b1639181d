/** The key of a keyed call, from the raw headers: Node would join two of them to one that nobody sent. */

/** `null` where none was sent. Only for headers that `isKeyFit` passed. */
export function readKey(rawHeaders: readonly string[]): string | null {
  return readKeys(rawHeaders)[0] ?? null;
}

/** Whether there is no key, or one that can be taken. */
export function isKeyFit(rawHeaders: readonly string[]): boolean {
  const keys = readKeys(rawHeaders);
  return keys.length <= 1 && keys.every(isKey);
}

/** Visible ASCII: one spelling for each key, in a header and in a path. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

function readKeys(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'idempotency-key');
}

const KEY = /^[!-~]{1,255}$/;
