/**
 * What is kept of a run that has ended, decided from how it ended alone: settled for good, given back because nothing
 * reached the target, or claimed anew because another has it.
 */
import {
  bareOutcome,
  CANCELLED_CODE,
  type CrossingKind,
  INTERRUPTED_CODE,
  type Outcome,
  UNCERTAIN_CODES,
} from '../../core-lite/record/crossing.ts';
import type { RunStop } from './run.ts';

export interface EndedRun {
  readonly kind: CrossingKind;
  /** What it gave; `null` where it was a fault. */
  readonly outcome: Outcome | null;
  /** Whether something may have been written. */
  readonly sent: boolean;
  readonly stopped: RunStop | null;
}

export type Conclusion =
  /** Kept for everybody who asks. */
  | { readonly settle: Outcome }
  /** The key may be used again; `answer` is for those who wait now, `null` for a fault. */
  | { readonly release: string; readonly answer: Outcome | null };

export function concludeRun({ kind, outcome, sent, stopped }: EndedRun): Conclusion {
  const reached = sent && outcome?.unsent === undefined;
  // An answer that was whole before the end came is the truth.
  if (reached && outcome?.status === 'completed') return { settle: outcome };
  if (stopped !== null && CANCELLING.has(stopped))
    return { settle: bareOutcome('cancelled', CANCELLED_CODE) };
  if (!reached) {
    if (stopped !== null) return { release: INTERRUPTED_CODE, answer: null };
    return { release: outcome?.code ?? INTERRUPTED_CODE, answer: outcome };
  }
  if (outcome === null || stopped !== null)
    return { settle: bareOutcome('uncertain', UNCERTAIN_CODES[kind]) };
  return { settle: outcome };
}

const CANCELLING: ReadonlySet<RunStop> = new Set(['cancelled', 'ended', 'token_untrusted']);
