/**
 * Follows the record: a line for each connection when it appears, and one when it ends. Rows become visible a little
 * out of order (replicas commit in batches and have clocks of their own), so each look begins some seconds before the
 * newest row that is known, and what was shown is not shown again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, isFault } from '../core-lite/errors.ts';
import { type Api, query } from './api.ts';
import type { Io } from './command.ts';
import { type ConnectionAnswer, formatConnection, isOpen } from './connection-row.ts';
import { formatRow, measureColumns } from './table.ts';

export interface Following {
  readonly api: Api;
  readonly filter: Readonly<Record<string, string | undefined>>;
  /** What is there already, oldest first. */
  readonly first: readonly ConnectionAnswer[];
  readonly json: boolean;
}

/** Resolves when the signal is aborted. A core that is away is waited for. */
export async function followConnections({ api, filter, first, json }: Following, io: Io): Promise<void> {
  const widths = measureColumns([COLUMNS, ...first.map(formatConnection)]);
  const show = (row: ConnectionAnswer): void =>
    io.out(json ? JSON.stringify(row) : formatRow(formatConnection(row), widths));
  const known = new Map(first.map((row) => [row.id, row]));
  for (const row of first) show(row);
  // The first look sees again what stands before the first row, and was left out by the limit.
  let floor = first[0]?.id ?? '';
  let away = false;
  while (!io.signal.aborted) {
    const fresh = await unlessAway(readNew(api, filter, known));
    if (fresh instanceof Fault && !away && !io.signal.aborted) io.err(`${fresh.message}: waiting for it`);
    away = fresh instanceof Fault;
    if (!(fresh instanceof Fault)) {
      for (const row of fresh) if (row.id >= floor) show(row);
      floor = '';
    }
    await sleep(PAUSE_MS, undefined, { signal: io.signal }).catch(() => {});
  }
}

async function unlessAway<T>(look: Promise<T>): Promise<T | Fault> {
  return look.catch((error: unknown) => {
    if (isFault(error, 'core_unreachable')) return error;
    throw error;
  });
}

/** The rows that are new, or have ended since, oldest first. Notes them in `known` and forgets what is long past. */
async function readNew(
  api: Api,
  filter: Following['filter'],
  known: Map<string, ConnectionAnswer>,
): Promise<readonly ConnectionAnswer[]> {
  const fresh: ConnectionAnswer[] = [];
  const start = startOfLook(known);
  let after = start;
  for (;;) {
    const at = `/v1/connections${query({ ...filter, after, limit: PAGE_ROWS })}`;
    const page = await api.call<readonly ConnectionAnswer[]>('GET', at);
    for (const row of page) {
      const before = known.get(row.id);
      if (!before || (isOpen(before) && !isOpen(row))) fresh.push(row);
      known.set(row.id, row);
    }
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE_ROWS) break;
  }
  for (const id of known.keys()) if (id <= start) known.delete(id);
  return fresh;
}

/** The id after which to look: ids sort by time. */
function startOfLook(known: ReadonlyMap<string, ConnectionAnswer>): string {
  const rows = [...known.values()];
  const newest = Math.max(...rows.map(timeOf));
  if (rows.length === 0) return FIRST_ID;
  const open = rows.filter((row) => isOpen(row) && timeOf(row) >= newest - OPEN_MS).map(timeOf);
  const from = Math.min(newest - OVERLAP_MS, ...open);
  // An id begins with its millisecond: this one stands before all of that millisecond.
  return `con_${Math.max(0, from - 1)
    .toString(16)
    .padStart(12, '0')}${'f'.repeat(20)}`;
}

/** The time that the id was made at. */
function timeOf({ id }: ConnectionAnswer): number {
  return Number.parseInt(id.slice('con_'.length, 'con_'.length + 12), 16);
}

const PAUSE_MS = 1_000;
/** How late a row may come, by a slow commit or by a clock. */
const OVERLAP_MS = 5_000;
/** How long the end of an open connection is waited for. */
const OPEN_MS = 60_000;
const PAGE_ROWS = 1000;
const FIRST_ID = `con_${'0'.repeat(32)}`;
/** Room for what is usual: a line that is longer moves the rest. */
const COLUMNS = [
  '2026-01-31T12:00:00Z',
  'environment',
  'api.production.example.com:443',
  'reported',
  'interception_missing',
  '203.0.113.100',
  '1000000',
  '1000000',
  '10m10s',
  'origin_closed',
];
