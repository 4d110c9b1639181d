/**
 * What a call may use at most, told before it starts: what its body says or, where that names no limit, what its
 * model's row says. An estimate is what budgets reserve; what is charged in the end is what was counted.
 */
import type { Spend } from '../core-lite/record/call-starts.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import type { ModelFacts } from '../core-lite/state/model.ts';
import { estimateCost } from './price.ts';
import type { ModelBody } from './read/model-call.ts';

export interface Estimated {
  /** As the caller names it. */
  readonly name: string;
  readonly dialect: Dialect;
  readonly body: Pick<ModelBody, 'streamed' | 'inputEstimate' | 'maxOutput' | 'answers'>;
  /** Whichever of these may answer, the first one first. */
  readonly models: readonly [ModelFacts, ...ModelFacts[]];
  readonly at: Date;
}

/** What is reserved, and whether the body itself lets the output be no more. */
export interface Reserved extends Spend {
  readonly limited: boolean;
}

/** The dearest of the models is reserved for; a price that is not known of one is not known of the call. */
export function estimateSpend({ name: model, dialect, body, models, at }: Estimated): Reserved {
  const [{ upstreamName, provider }] = models;
  const inputTokens = body.inputEstimate;
  const outputTokens = Math.max(...models.map((each) => estimateOutput(dialect, body, each)));
  const costs = models.map((each) =>
    estimateCost(
      { provider: each.provider, model: each.upstreamName, at },
      { input: inputTokens, output: estimateOutput(dialect, body, each) },
    ),
  );
  const costUsd = costs.reduce(
    (most, cost) => (most === null || cost === null ? null : Math.max(most, cost)),
    0,
  );
  return {
    model,
    upstreamName,
    provider,
    dialect,
    streamed: body.streamed,
    inputTokens,
    outputTokens,
    costUsd,
    limited: dialect === 'embeddings' || models.every((each) => limitOf(body, each) !== null),
  };
}

function estimateOutput(dialect: Dialect, body: Estimated['body'], model: ModelFacts): number {
  if (dialect === 'embeddings') return 0;
  const limit = limitOf(body, model) ?? model.defaultMaxTokens ?? DEFAULT_MAX_TOKENS;
  return Math.min(limit * body.answers, MAX_TOKENS);
}

/** How many tokens each answer may have; `null` where nothing is said that this model's provider holds to. */
function limitOf({ maxOutput }: Estimated['body'], { provider }: ModelFacts): number | null {
  // With 0 Anthropic writes its cache alone; others may take it for no limit.
  return maxOutput === 0 && provider !== 'anthropic' ? null : maxOutput;
}

const DEFAULT_MAX_TOKENS = 4_096;
/** No model writes so much; what a caller asks beyond it must not leave the columns of the database. */
const MAX_TOKENS = 1_000_000_000;
