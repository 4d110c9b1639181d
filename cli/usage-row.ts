/** Lines of `usage`: a sum, and a single call. */
import { formatDuration, formatMoment } from './table.ts';

export interface SumAnswer {
  readonly group: string;
  readonly calls: number;
  readonly failed: number;
  readonly unmetered: number;
  readonly unpriced: number;
  readonly presumed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: number;
  readonly lastAt: string;
}

export interface CallAnswer {
  readonly id: string;
  readonly at: string;
  readonly turnId: string;
  readonly agent: string;
  readonly model: string;
  readonly provider: string | null;
  readonly outcome: string;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly costUsd: number | null;
  readonly duplicate: boolean;
  readonly presumed: boolean;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  readonly clientAgent: string | null;
}

export const SUM_COLUMNS = [
  'CALLS',
  'FAILED',
  'UNMETERED',
  'IN',
  'CACHED',
  'OUT',
  'REASONING',
  'USD',
  'UNPRICED',
  'PRESUMED',
  'LAST',
];

export function formatSum(sum: SumAnswer): string[] {
  const { calls, failed, unmetered, inputTokens, cachedTokens, outputTokens, reasoningTokens } = sum;
  const numbers = [calls, failed, unmetered, inputTokens, cachedTokens, outputTokens, reasoningTokens];
  const cost = [formatUsd(sum.costUsd), String(sum.unpriced), String(sum.presumed)];
  return [sum.group, ...numbers.map(String), ...cost, formatMoment(sum.lastAt)];
}

export const CALL_COLUMNS = [
  'TIME',
  'AGENT',
  'TURN',
  'MODEL',
  'PROVIDER',
  'OUTCOME',
  'IN',
  'CACHED',
  'OUT',
  'USD',
  'FIRST BYTE',
  'TOOK',
  'CLIENT AGENT',
  'NOTE',
];

export function formatCall(call: CallAnswer): string[] {
  const counts = [call.inputTokens, call.cachedTokens, call.outputTokens].map((count) => count ?? '-');
  return [
    formatMoment(call.at),
    call.agent,
    call.turnId,
    call.model,
    call.provider ?? '-',
    call.outcome,
    ...counts.map(String),
    call.costUsd === null ? '-' : formatUsd(call.costUsd),
    call.firstByteMs === null ? '-' : formatDuration(call.firstByteMs),
    formatDuration(call.durationMs),
    call.clientAgent ?? '-',
    [call.presumed ? 'presumed' : '', call.duplicate ? 'duplicate' : ''].filter(Boolean).join(' ') || '-',
  ];
}

/** To a millionth: a small call costs less than a cent. Less than that is not nothing. */
function formatUsd(cost: number): string {
  const text = cost.toFixed(6);
  return cost > 0 && Number(text) === 0 ? '<0.000001' : text;
}
