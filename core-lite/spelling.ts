/** Finds what somebody probably meant: for misspelt settings and commands. */

/** The closest of `known` to `given`, or `null` where none is close. */
export function nearest(given: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(given.length / 4)) + 1;
  for (const candidate of known) {
    const edits = distance(given, candidate);
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Levenshtein: insertions, deletions and substitutions. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change);
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
