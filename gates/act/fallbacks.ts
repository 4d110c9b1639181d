/**
 * Calls the candidates in their order until one answers. The next one is called only while nothing of an answer went out,
 * and only for what is a provider's own trouble; what the caller got wrong is the caller's to hear.
 */
import type { Candidate } from '../decide/model-call.ts';
import type { ModelEnding } from '../record.ts';
import type { PassedOver } from './first-look.ts';
import { callModel, type Means, type Unanswered } from './model-call.ts';

export interface Answered {
  /** Who answered or, where nobody did, who was called last. */
  readonly by: Candidate;
  readonly ending: ModelEnding | Unanswered;
}

/**
 * @param candidates at least one
 * @param onPassedOver told of each that did not answer
 */
export async function callCandidates(
  candidates: readonly Candidate[],
  means: Means,
  onPassedOver: (candidate: Candidate, why: PassedOver['passedOver']) => void,
): Promise<Answered> {
  const passed: PassedOver[] = [];
  for (const [place, by] of candidates.entries()) {
    const ending = await callModel(by, place + 1 < candidates.length, means);
    if (!('passedOver' in ending)) return { by, ending: explain(ending, passed) };
    passed.push(ending);
    onPassedOver(by, ending.passedOver);
  }
  throw new Error('the last candidate is never passed over');
}

/** What the caller is told when nothing is left: of the last one's answer as it came, of a failure the first one's. */
function explain(ending: ModelEnding | Unanswered, passed: readonly PassedOver[]): ModelEnding | Unanswered {
  const [first] = passed;
  if (!first || !('refusal' in ending) || !UNREACHED.has(ending.refusal)) return ending;
  const busy = passed.filter((each) => each.passedOver === 'provider_busy');
  const seconds = Math.min(
    ...busy.map(({ retryAfter }) => readRetryAfter(retryAfter, Date.now()) ?? Infinity),
  );
  const text = `${passed.length + 1} models were called`;
  const detail = Number.isFinite(seconds) ? { text, retryAfterSeconds: seconds } : { text };
  return { refusal: busy.length > 0 ? 'provider_busy' : first.passedOver, detail };
}

/** Seconds from now; `null` where the text is none of RFC 9110's two forms. */
export function readRetryAfter(text: string, now: number): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = /\bgmt$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000);
}

const UNREACHED: ReadonlySet<string> = new Set([
  'resolve_failed',
  'address_refused',
  'plaintext_refused',
  'connect_failed',
  'provider_certificate',
]);
