/** Names as readers take them who mind no case or no underscore. */

/** Upper case first: a decoder that minds no case takes `ſ` for `s`. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Both of Google's spellings are one. */
export function squash(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}
