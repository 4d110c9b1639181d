/** What a tool is told of the call that it is part of. All of it comes from the token, the key and the trace: nothing of it is the caller's to say. */
import { randomBytes } from 'node:crypto';
import type { CallerToken } from '../caller-token.ts';
import { headerValue, type RawHeaders } from './headers.ts';

export interface ToolCaller {
  readonly token: CallerToken;
  /** The caller's `Idempotency-Key`, where the call is keyed. */
  readonly key: string | null;
  readonly trace: Trace;
}

/** A `traceparent` of W3C Trace Context level 1. */
export interface Trace {
  readonly id: string;
  readonly parent: string;
}

/** The trace that the caller is in, or a new one. */
export function readTrace(raw: RawHeaders): Trace {
  const parent = headerValue(raw, 'traceparent');
  const [, id] = TRACEPARENT.exec(parent) ?? [];
  if (id !== undefined) return { id, parent };
  const fresh = randomBytes(16).toString('hex');
  return { id: fresh, parent: `00-${fresh}-${randomBytes(8).toString('hex')}-00` };
}

/** Name, value, name, value. */
export function identityHeaders({ token, key, trace }: ToolCaller): string[] {
  const { sub, trn, agt } = token.claims;
  return [
    'sallyport-session-id',
    sub,
    ...(trn === undefined ? [] : ['sallyport-turn-id', trn]),
    'sallyport-agent-id',
    agt,
    ...(key === null ? [] : ['idempotency-key', key]),
    'traceparent',
    trace.parent,
  ];
}

/** Neither id is all zeros. */
const TRACEPARENT = /^00-((?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
