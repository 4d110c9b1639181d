/** How what was learnt is shown: tables of bounded length for people, and all of it as JSON. */
import type { Decision } from '../../core-lite/decision.ts';
import type { Io } from '../command.ts';
import type { EnvironmentAnswer } from '../commands/env.ts';
import { formatMoment, formatTable } from '../table.ts';
import type { Entry, Seen } from './allowlist.ts';
import type { Replayed } from './replay.ts';

/** Connections to one place that were judged alike, as core answers them. */
export interface DestinationAnswer extends Seen {
  readonly decision: { readonly verdict: string; readonly reason: string };
  readonly verdict: 'allowed' | 'denied' | 'reported';
  readonly reason: string;
}

/** A place, in sums, and why it is denied. */
export interface DeniedTarget {
  readonly target: string;
  readonly reason: string;
  /** What became of it, as the record has it: a host may have been let through and then not be reached. */
  readonly recorded: string;
  readonly count: number;
  readonly lastAt: string;
}

export interface Lesson {
  readonly environment: string;
  readonly since: string;
  /** There is more than was read. */
  readonly truncated: boolean;
  readonly entries: readonly Entry[];
  /** The whole list: the entries, behind those that are kept. */
  readonly allow: readonly string[];
  /** What the list would still deny. */
  readonly denied: readonly DeniedTarget[];
}

/** One line for each place and reason, the most asked for first. */
export function sumTargets(denied: readonly Replayed<DestinationAnswer>[]): DeniedTarget[] {
  const sums = new Map<string, DeniedTarget>();
  for (const { row, decision } of denied) {
    const target = `${row.host}:${row.port}`;
    const { reason: recorded } = row;
    const key = `${target} ${decision.reason} ${recorded}`;
    const before = sums.get(key);
    const lastAt = before && before.lastAt > row.lastAt ? before.lastAt : row.lastAt;
    sums.set(key, {
      target,
      reason: decision.reason,
      recorded,
      count: (before?.count ?? 0) + row.count,
      lastAt,
    });
  }
  return [...sums.values()].sort((one, other) => other.count - one.count);
}

export function showLesson(
  lesson: Lesson & { readonly applied: EnvironmentAnswer | null },
  json: boolean,
  io: Io,
): void {
  const { environment, since, entries, denied, applied } = lesson;
  if (json) {
    io.out(JSON.stringify({ ...lesson, applied: applied !== null, mode: applied?.mode }, null, 2));
    return;
  }
  if (entries.length === 0)
    io.out(`nothing that ${environment} used since ${formatMoment(since)} is missing`);
  else {
    const rows = entries.map((entry) => [
      entry.pattern,
      String(entry.count),
      String(entry.hosts),
      formatMoment(entry.firstAt),
      formatMoment(entry.lastAt),
    ]);
    showTable([ENTRIES_HEAD, ...rows], io);
  }
  if (denied.length > 0) {
    io.out('');
    io.out('still denied with this list:');
    showTable([DENIED_HEAD, ...denied.map(deniedRow)], io);
  }
  sayTruncated(lesson, io);
  if (applied)
    io.out(`applied: ${environment} allows ${applied.allow.length} patterns, mode ${applied.mode}`);
}

export function showReplay(
  {
    environment,
    since,
    truncated,
    replayed,
  }: Omit<Lesson, 'entries' | 'allow' | 'denied'> & {
    readonly replayed: readonly Replayed<DestinationAnswer>[];
  },
  json: boolean,
  io: Io,
): void {
  const judged = replayed.filter(({ row }) => JUDGED_BY_POLICY.has(row.decision.reason));
  const changed = judged.filter(({ row, decision }) => row.decision.reason !== decision.reason);
  const shown = changed.map(({ row, decision }) => ({
    target: `${row.host}:${row.port}`,
    count: row.count,
    lastAt: row.lastAt,
    was: row.decision,
    now: { verdict: decision.verdict, reason: decision.reason },
  }));
  const counts = { same: count(judged) - count(changed), changed: count(changed) };
  if (json) {
    io.out(JSON.stringify({ environment, since, truncated, ...counts, changes: shown }, null, 2));
    return;
  }
  const rows = shown.map(({ target, was, now, count, lastAt }) => [
    target,
    formatDecision(was),
    formatDecision(now),
    String(count),
    formatMoment(lastAt),
  ]);
  if (rows.length > 0) showTable([REPLAY_HEAD, ...rows], io);
  io.out(`${counts.same} connections would be judged as they were, ${counts.changed} otherwise`);
  sayTruncated({ truncated }, io);
}

function count(replayed: readonly Replayed<DestinationAnswer>[]): number {
  return replayed.reduce((sum, { row }) => sum + row.count, 0);
}

function deniedRow({ target, reason, recorded, count: times, lastAt }: DeniedTarget): string[] {
  return [target, reason, recorded, String(times), formatMoment(lastAt)];
}

function formatDecision({
  verdict,
  reason,
}: Pick<Decision, 'verdict' | 'reason'> | DestinationAnswer['decision']): string {
  return verdict === reason ? verdict : `${verdict} ${reason}`;
}

function showTable(rows: readonly (readonly string[])[], io: Io): void {
  for (const line of formatTable(rows.slice(0, MAX_LINES + 1))) io.out(line);
  const more = rows.length - 1 - MAX_LINES;
  if (more > 0) io.out(`… and ${more} more: --json has them all`);
}

function sayTruncated({ truncated }: Pick<Lesson, 'truncated'>, io: Io): void {
  if (truncated)
    io.err(
      'sallyport: there are more places than are read at once, of which these are the most used; take a later --since',
    );
}

/** Decided by host, port and mode alone; what else a row may say hangs on the moment. */
const JUDGED_BY_POLICY: ReadonlySet<string> = new Set([
  'allowlisted',
  'reported',
  'host_denied',
  'port_denied',
  'ip_literal',
]);
const ENTRIES_HEAD = ['PATTERN', 'COUNT', 'HOSTS', 'FIRST', 'LAST'];
const DENIED_HEAD = ['TARGET', 'WOULD BE', 'WAS', 'COUNT', 'LAST'];
const REPLAY_HEAD = ['TARGET', 'WAS', 'WOULD BE', 'COUNT', 'LAST'];
const MAX_LINES = 200;
