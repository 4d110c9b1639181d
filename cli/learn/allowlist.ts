/**
 * The smallest allowlist that covers what was seen: exact hosts, a port only where it is none of the web's, and `*.`
 * only where it was asked for. Pure. Whatever ran decides what was seen, so nothing here is applied unread.
 */
import {
  type HostPattern,
  isWebPort,
  matchesTarget,
  parseHostPattern,
} from '../../core-lite/network/host-pattern.ts';
import { isShared } from './shared-suffixes.ts';

/** Connections to one place, in sums. */
export interface Seen {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  /** RFC 3339, in UTC. */
  readonly firstAt: string;
  readonly lastAt: string;
}

/** One entry of the list, and what it covers of what was seen. */
export interface Entry {
  readonly pattern: string;
  readonly count: number;
  /** How many hosts it covers. */
  readonly hosts: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/**
 * The entries, the most used first. What has no pattern (an IP address) has none.
 * @param siblings hosts directly under one name that become `*.name`; never if left out
 */
export function learnEntries(seen: readonly Seen[], siblings = Number.POSITIVE_INFINITY): Entry[] {
  const exact = seen.map(({ host, port }) => (isWebPort(port) ? host : `${host}:${port}`));
  const wide = findWildcards(new Set(exact), siblings)
    .map(parse)
    .filter((each) => each !== null);
  const covering = new Map<string, Seen[]>();
  for (const [place, each] of seen.entries()) {
    const own = exact[place] as string;
    const pattern = wide.find(({ parsed }) => matchesTarget(parsed, each.host, each.port)) ?? parse(own);
    if (pattern === null) continue;
    const covered = covering.get(pattern.text);
    if (covered) covered.push(each);
    else covering.set(pattern.text, [each]);
  }
  const entries = [...covering].map(([pattern, covered]) => sumUp(pattern, covered));
  return entries.sort((one, other) => other.count - one.count || (one.pattern < other.pattern ? -1 : 1));
}

/** `*.name` for each name with enough hosts directly under it, the widest first. */
function findWildcards(exact: ReadonlySet<string>, siblings: number): string[] {
  const under = new Map<string, number>();
  for (const text of exact) {
    const suffix = text.slice(text.indexOf('.') + 1);
    // A port of its own opens less than `*.` does: such hosts stay as they are.
    if (text.includes('.') && !text.includes(':')) under.set(suffix, (under.get(suffix) ?? 0) + 1);
  }
  const wide = [...under].filter(([suffix, count]) => count >= siblings && !isShared(suffix));
  return wide.map(([suffix]) => `*.${suffix}`).sort((one, other) => one.length - other.length);
}

function parse(text: string): { readonly text: string; readonly parsed: HostPattern } | null {
  const parsed = parseHostPattern(text);
  return 'message' in parsed ? null : { text, parsed };
}

function sumUp(pattern: string, covered: readonly Seen[]): Entry {
  return {
    pattern,
    count: covered.reduce((sum, { count }) => sum + count, 0),
    hosts: new Set(covered.map(({ host }) => host)).size,
    firstAt: covered.map(({ firstAt }) => firstAt).sort()[0] ?? '',
    lastAt:
      covered
        .map(({ lastAt }) => lastAt)
        .sort()
        .at(-1) ?? '',
  };
}
