/** One behaviour of a provider: what it is asked, what it does, what the caller must get of it and what the ledger must have. */
import { sample } from '../../../cli/dialect-samples.ts';
import type { Spend } from '../../../core-lite/record/call-starts.ts';
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import type { ModelFacts } from '../../../core-lite/state/model.ts';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { estimateSpend } from '../../../gates/estimate.ts';
import { readModelBody } from '../../../gates/read/model-call.ts';
import type { Outcome } from '../../../gates/reasons.ts';
import type { Wire } from './wire.ts';

export interface Behaviour {
  readonly name: string;
  readonly dialect: Dialect;
  /** How it is asked, where that is not the dialect's stream, or its whole answer. */
  readonly ask?: Asking;
  readonly script: (wire: Wire) => unknown;
  readonly client: Expected;
  readonly row: ExpectedRow;
}

export interface Asking {
  readonly path?: string;
  /** Fields of the body beside model and messages. */
  readonly more?: object;
  /** Reads nothing for a while. */
  readonly slow?: true;
  /** Goes away once it has this much of the body; 0 before it has anything. */
  readonly leavesAt?: number;
  /** Asks the gates that wait a second for a silent stream. */
  readonly impatient?: true;
}

interface Expected {
  /** `null` where the caller left before one. */
  readonly status: number | null;
  /** Whether it came to its end as it was framed; it must where this is left out. */
  readonly whole?: boolean;
  /** Every byte as the script sent it where this is left out. */
  readonly body?: RegExp | string;
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>;
}

export interface ExpectedRow {
  readonly outcome: Outcome;
  /** Input, output and, where they are told, cached, cache write and reasoning; `presumed`: the input as reserved, the output too or by what passed. */
  readonly tokens?: readonly (number | null)[] | 'presumed';
  /** US dollars. */
  readonly cost?: number;
  /** Whether some of the tokens that are named are presumed. */
  readonly presumed?: true;
}

/** What a behaviour's call has reserved when it is sent. */
export function reserveFor(
  { dialect, ask = {} }: Behaviour,
  model: string,
  [provider, upstreamName]: readonly [provider: string, upstreamName: string],
): Spend {
  const operation = Object.values(OPERATIONS).find((each) => each.dialect === dialect && !each.counts);
  if (!operation) throw new Error('nothing is asked in this dialect');
  const body = Buffer.from(JSON.stringify({ ...sample(dialect, model, 'hi').body, ...ask.more }));
  const read = readModelBody(body, operation, dialect === 'gemini' ? model : null);
  if ('refusal' in read) throw new Error(read.refusal);
  const facts = { provider, upstreamName, defaultMaxTokens: null } as ModelFacts;
  return estimateSpend({ name: model, dialect, body: read, models: [facts], at: new Date() });
}

/** A stream in chunks. */
export function streams(...events: readonly string[]): (wire: Wire) => void {
  return (wire) => {
    openStream(wire);
    for (const event of events) wire.chunk(event);
    wire.last();
  };
}

export function openStream(wire: Wire, ...more: readonly string[]): Wire {
  return wire.head('200 OK', 'Content-Type: text/event-stream', 'Transfer-Encoding: chunked', ...more);
}

/** A whole answer with its length. */
export function answers(
  status: string,
  body: string | Buffer,
  ...more: readonly string[]
): (wire: Wire) => void {
  const lines = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...more];
  return (wire) => void wire.head(status, ...lines).plain(body);
}

/** The key that the gates call with. */
export const KEY = 'sk-canary-behaviour-77aa41';
