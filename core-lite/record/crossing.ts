/**
 * A crossing: one keyed call at a gate. It reaches its target at most once, outlives its caller, and what came of it is
 * kept for whoever asks again. What a call is here is decided by its request, never by who sends it.
 */

/** As a reader sees it. `held`: it waits for somebody's word. */
export const CROSSING_STATUSES = [
  'invoking',
  'held',
  'uncertain',
  'cancelled',
  'failed',
  'completed',
] as const;
export type CrossingStatus = (typeof CROSSING_STATUSES)[number];

/**
 * How a crossing ended. `completed`: the target answered, be it with a failure of its own. `failed`: we ended it before
 * anything reached the target. `uncertain`: it may have run, and nobody can tell.
 */
export type EndStatus = Exclude<CrossingStatus, 'invoking' | 'held'>;
export type CrossingKind = 'http' | 'mcp';

export interface CrossingRequest {
  /** The caller's `Idempotency-Key`: 1 to 255 visible ASCII characters. */
  readonly key: string;
  readonly kind: CrossingKind;
  /** `null` for an HTTP tool. */
  readonly server: string | null;
  readonly tool: string;
  readonly credentialId: string | null;
  /** The same bytes for the same request, however it was written; only their HMAC is kept. */
  readonly request: Buffer;
}

/** What a call gave: the same answer for everybody who asks. */
export interface Outcome {
  readonly status: EndStatus;
  /** The failure's code; `null` where there is none. */
  readonly code: string | null;
  /** The answer in JSON, `{"ok":…}`. */
  readonly body: string;
  /** Surely no byte reached the target, though it was about to be written: the call may be tried again. */
  readonly unsent?: true;
}

/** The answer to a call that has no outcome of its own to show: the same text for everybody. */
export function bareOutcome(status: EndStatus, code: string): Outcome {
  const message = `${BARE_TEXTS[status]} (${code})`;
  return { status, code, body: JSON.stringify({ ok: false, error: { code, message } }) };
}

const BARE_TEXTS: Readonly<Record<EndStatus, string>> = {
  uncertain:
    'the call may have run or not, and is never run again: look at the tool before you send a new one',
  cancelled: 'the call was cancelled; where it had been sent, the tool may have run it',
  failed: 'the call was ended before anything reached the tool: it may be sent again with the same key',
  completed: 'the call ran, and its answer is not known any more',
};
/** A call that may have run, by what it calls. The database writes the same words for calls of gates that died. */
export const UNCERTAIN_CODES: Readonly<Record<CrossingKind, string>> = {
  http: 'http.lost',
  mcp: 'tool.uncertain',
};
export const CANCELLED_CODE = 'tool.cancelled';
export const INTERRUPTED_CODE = 'tool.interrupted';
