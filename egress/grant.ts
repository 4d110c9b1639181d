/**
 * What an exchange inside an interception is granted, whatever protocol it came in: facts and secrets as they are now,
 * the decision, and the request with its secrets. And what the record says when it is over.
 */
import { Allow } from '../core-lite/decision.ts';
import { makeId } from '../core-lite/id.ts';
import type { Binding } from '../core-lite/network/policy.ts';
import type { ApprovalReason, EndReason, Reason, RefusalReason } from '../core-lite/reasons.ts';
import type { OpenedSecret } from '../core-lite/vault/secret-reader.ts';
import { placeSecrets, type RequestParts } from './act/inject.ts';
import type { Connection } from './connection.ts';
import { decideExchange } from './decide/exchange.ts';
import { chooseSecrets, type Judged } from './decide/rules.ts';
import type { Gate } from './gate.ts';
import type { HeaderLine, RequestHead } from './http1/head.ts';
import type { Cut } from './scrub/body-scrubber.ts';
import { Scrubber } from './scrub/scrubber.ts';
import { openSecrets, readStanding, scopeOf } from './secrets.ts';

/** A request that was let through, and with which secrets. */
export interface Granted {
  readonly proof: Allow;
  /** Those that were put on: none where all stand for a placeholder that the client did not send. */
  readonly secrets: readonly OpenedSecret[];
  /** Whether one was put on, as the record says it. */
  readonly reason: ApprovalReason;
  /** What origin connections it may go over. */
  readonly scope: string;
  /** With its secrets. */
  readonly parts: RequestParts;
  /** What was judged, */
  readonly request: Judged;
  /** by all that was bound to the host, */
  readonly bound: readonly Binding[];
  /** and what of that covers the request. */
  readonly chosen: readonly Binding[];
}

export interface ExchangeRefusal {
  readonly refusal: RefusalReason;
  readonly code?: string;
}

/**
 * @param headers those of `head` that go on to the origin
 * @param streams of the environment that are open beside this one; none in HTTP/1.1
 */
export async function grantExchange(
  gate: Gate,
  connection: Connection,
  head: RequestHead,
  headers: readonly HeaderLine[],
  streams = 0,
): Promise<Granted | ExchangeRefusal> {
  const standing = await readStanding(gate, connection).catch(() => null);
  if (!standing) return UNREADABLE;
  const { bound } = standing;
  const decision = decideExchange({ target: connection.target, head, streams, ...standing });
  if (!(decision instanceof Allow)) {
    const uncovered = decision.reason === 'injection_failed';
    const code = bound.length === 0 ? 'SECRET_UNBOUND' : 'SECRETS_CONTEST_A_PLACE';
    return { refusal: decision.reason, ...(uncovered ? { code } : {}) };
  }
  // Nothing is opened for a request that is refused.
  const chosen = chooseSecrets(head, bound);
  if (chosen === 'contested') throw new Error('unreachable: such a request is not allowed');
  const secrets = await openSecrets(gate, chosen).catch(() => null);
  if (!secrets) return UNREADABLE;
  if ('unusable' in secrets) return { refusal: 'injection_failed', code: secrets.unusable };
  const parts = placeSecrets(decision, { ...head, headers }, secrets);
  if (!parts) return { refusal: 'injection_failed', code: 'KEY_OF_THE_CLIENT' };
  const reason = parts.placed.length > 0 ? decision.reason : 'placeholder_absent';
  const scope = scopeOf(connection, secrets);
  return { proof: decision, secrets: parts.placed, reason, scope, parts, request: head, bound, chosen };
}

/** One that is over. */
export interface ExchangeEnd {
  /** As the client sent it; empty of one that could not be read. */
  readonly method: string;
  readonly target: string;
  readonly at: Date;
  readonly reason: Reason;
  /** Of the origin's answer. */
  readonly status: number | null;
  /** Those that went out with it. */
  readonly secrets: readonly OpenedSecret[];
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** How often a secret was masked in the answer. */
  readonly masked: number;
  /** More exactly why it was refused, where the reason leaves it open. */
  readonly code?: string | undefined;
}

/** What passed of one, as far as it came. */
export type Passed = Pick<ExchangeEnd, 'bytesUp' | 'bytesDown' | 'code'> & { readonly masked?: number };

/** What an interception came to. */
export interface InterceptionEnd {
  readonly reason: EndReason;
  readonly exchanges: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

/**
 * @param granted why it was let through
 * @param answer what came of it at the client
 */
export function reasonOfAnswer(
  granted: Reason,
  { complete, cut, left }: { readonly complete: boolean; readonly cut: Cut | null; readonly left: boolean },
): { readonly reason: Reason; readonly code?: string } {
  if (cut) {
    const { refusal: reason, code } = refusalOfCut(cut);
    return { reason, ...(code ? { code } : {}) };
  }
  if (complete) return { reason: granted };
  return { reason: left ? 'client_reset' : 'origin_failed' };
}

/** Of the secrets that are in the request. */
export function scrubberOf({ secrets }: Granted, { environmentId }: Connection): Scrubber {
  return new Scrubber(
    secrets.map(({ value }) => value),
    environmentId,
  );
}

/** Said where nothing of the answer had left. */
export function refusalOfCut(cut: Cut): ExchangeRefusal {
  if (cut === 'echoed') return { refusal: 'secret_echoed' };
  return { refusal: 'answer_undecodable', code: CODES_OF_CUTS[cut] };
}

export function recordExchange(gate: Gate, connection: Connection, end: ExchangeEnd): void {
  gate.record.exchange(connection, {
    id: makeId('exc'),
    connectionId: connection.id,
    at: end.at,
    method: end.method,
    path: recordedPath(end.target),
    status: end.status,
    reason: end.reason,
    credentials: end.secrets.map(({ credentialId, revision }) => `${credentialId}@${revision}`),
    bytesUp: end.bytesUp,
    bytesDown: end.bytesDown,
    masked: end.masked,
    code: end.code ?? null,
    durationMs: gate.now().getTime() - end.at.getTime(),
  });
}

/** Without its query, and nothing of a target that is no path: a URL may have a password in it. */
function recordedPath(target: string): string {
  if (!target.startsWith('/') && target !== '*') return '';
  return (target.split(/[?#]/, 1)[0] ?? '').slice(0, MAX_PATH_CHARS);
}

/** Of a request that the origin got nothing of. */
export const UNSENT: Pick<ExchangeEnd, 'status' | 'bytesUp' | 'bytesDown'> = {
  status: null,
  bytesUp: 0,
  bytesDown: 0,
};
const UNREADABLE: ExchangeRefusal = { refusal: 'facts_unavailable' };
const MAX_PATH_CHARS = 1024;

const CODES_OF_CUTS: Readonly<Record<Exclude<Cut, 'echoed'>, string>> = {
  overmuch: 'TOO_MUCH_TO_DECODE',
  broken: 'CODING_BROKEN',
  busy: 'DECODERS_BUSY',
};
