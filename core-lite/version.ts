/** The version of this program, and how versions compare. */
import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** Negative if `a` is older than `b`; both are `major.minor.patch`, and what may follow after a hyphen is not compared. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.', 3).map((part) => Number.parseInt(part, 10)));
  for (let i = 0; i < 3; i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
