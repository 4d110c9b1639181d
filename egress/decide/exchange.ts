/**
 * Whether one request inside an interception may go on: it must be a plain request for the host of the CONNECT, and a
 * secret that is bound to the host must cover it. Pure, like every decision.
 */
import { Allow, type Decision, Deny } from '../../core-lite/decision.ts';
import type { Target } from '../../core-lite/network/target.ts';
import { headerValues, type RequestHead } from '../http1/head.ts';
import { chooseSecrets, hasRules, isAmbiguous, type Ruled } from './rules.ts';

export interface ExchangeFacts {
  /** Of the CONNECT. */
  readonly target: Target;
  readonly head: RequestHead;
  /** The secrets bound to the target now. */
  readonly bound: readonly Ruled[];
  /** HTTP/2 streams of the environment that are open beside this one. */
  readonly streams: number;
  /** How many may be: each may hold as much as a connection does. */
  readonly maxStreams: number;
}

/** The secrets of an exchange that is allowed are those that `chooseSecrets` makes of the same facts. */
export function decideExchange({ target, head, bound, streams, maxStreams }: ExchangeFacts): Decision {
  // TRACE would send the secret back; a CONNECT inside would be a way around the gate.
  if (/^(trace|connect)$/i.test(head.method)) return new Deny('method_refused');
  if (!isHere(target, head)) return new Deny('authority_mismatch');
  if (!PATH.test(head.target)) return new Deny('request_malformed');
  if (bound.length === 0) return new Deny('injection_failed');
  if (bound.some(hasRules) && isAmbiguous(head)) return new Deny('request_ambiguous');
  const chosen = chooseSecrets(head, bound);
  if (chosen === 'contested') return new Deny('injection_failed');
  if (chosen.length === 0) return new Deny('rule_denied');
  // Written as "not below", so that a limit that is not a number refuses.
  return streams < maxStreams ? new Allow('injected') : new Deny('connection_limit');
}

/** One connection, one host: the request names the host of the CONNECT and no other, in every place that could. */
function isHere(target: Target, head: RequestHead): boolean {
  const hosts = headerValues(head.headers, 'host');
  const [host] = hosts;
  if (hosts.length > 1 || (host === undefined && head.minor === 1)) return false;
  if (host !== undefined && !namesTarget(host, target)) return false;
  const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(head.target);
  return !absolute;
}

function namesTarget(host: string, target: Target): boolean {
  const name = host.toLowerCase();
  return name === `${target.host}:${target.port}` || (name === target.host && target.port === 443);
}

/** Origin form, or the asterisk of OPTIONS (RFC 9112 3.2). */
const PATH = /^(\/.*|\*)$/s;
