/** What is counted of model calls for Prometheus: how they ended, what they used and cost, and how long they took. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { findProvider } from '../core-lite/providers/catalogue.ts';
import type { TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import { ECHO_MODEL } from '../core-lite/state/model.ts';
import type { Figures } from './charge.ts';
import type { Outcome } from './reasons.ts';

export interface CountedCall {
  readonly dialect: Dialect;
  readonly provider: string | null;
  readonly outcome: Outcome;
  /** What is known of it, and what its row in the ledger has: what is presumed, too. */
  readonly told: Figures;
  readonly booked: Figures;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

/** @returns counts one call */
export function makeModelMetrics(registry: Registry): (call: CountedCall) => void {
  const { calls, tokens, cost, unmetered, unpriced, firstByte, duration } = register(registry);
  return (call) => {
    const provider = labelOf(call.provider);
    const { told, booked } = call;
    const { input, output } = told.tokens;
    calls.inc({ dialect: call.dialect, outcome: call.outcome });
    for (const [direction, read] of DIRECTIONS) {
      const count = read(booked.tokens);
      if (count) tokens.inc({ provider, direction }, count);
    }
    if (booked.costUsd) cost.inc({ provider }, booked.costUsd);
    if (call.outcome === 'completed' && output === null) unmetered.inc({ provider });
    if (input !== null && output !== null && told.costUsd === null) unpriced.inc({ provider });
    if (call.firstByteMs !== null) firstByte.observe(call.firstByteMs / 1000);
    duration.observe(call.durationMs / 1000);
  };
}

function register(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `sallyport_gates_${name}_total`, help, labelNames, registers });
  const seconds = (name: string, help: string): Histogram =>
    new Histogram({ name: `sallyport_gates_${name}_seconds`, help, buckets: BUCKETS, registers });
  return {
    calls: counter('model_calls', 'Model calls in the ledger, by how they ended', ['dialect', 'outcome']),
    tokens: counter(
      'tokens',
      'Tokens as the ledger has them, presumed ones too; cached, cache_write and reasoning are parts',
      ['provider', 'direction'],
    ),
    cost: counter('cost_usd', 'What model calls cost by list prices, in US dollars, presumed costs too', [
      'provider',
    ]),
    unmetered: counter('unmetered_calls', 'Completed model calls whose provider told no usage', ['provider']),
    unpriced: counter('unpriced_calls', 'Model calls with usage whose price is not known', ['provider']),
    firstByte: seconds('first_byte', 'From a model call’s arrival to the first byte of its answer'),
    duration: seconds('model_call', 'From a model call’s arrival to its end'),
  };
}

/** A closed list, whatever stands in a row of the database. */
function labelOf(provider: string | null): string {
  if (provider === null) return 'none';
  return provider === ECHO_MODEL.provider || findProvider(provider) ? provider : 'other';
}

const DIRECTIONS: readonly (readonly [direction: string, read: (tokens: TokenCounts) => number | null])[] = [
  ['input', ({ input }) => input],
  ['output', ({ output }) => output],
  ['cached', ({ cached }) => cached],
  ['cache_write', ({ cacheWrite }) => cacheWrite],
  ['reasoning', ({ reasoning }) => reasoning],
];
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
