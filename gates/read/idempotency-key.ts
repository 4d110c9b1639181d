/** The key of a keyed call. */

/** Visible ASCII: one spelling for each key, in a header and in a path. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

const KEY = /^[!-~]{1,255}$/;
