/**
 * The last stage: what is kept of a call. A model call that was decided has a row in the ledger and a log line, a
 * tool call a log line; what nobody can be named for is counted. Never a prompt, an argument, an answer or a secret.
 */
import { makeId } from '../core-lite/id.ts';
import type { Logger } from '../core-lite/log.ts';
import type { TokenCounts, UsageLedger } from '../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import type { PassedOver } from './act/first-look.ts';
import type { Call } from './calls.ts';
import type { Candidate } from './decide/model-call.ts';
import type { HttpOutcome } from './http-outcomes.ts';
import type { Metrics } from './metrics.ts';
import type { Outcome, RefusalReason } from './reasons.ts';

/** How a model call ended. */
export interface ModelEnding {
  readonly outcome: Outcome;
  /** What the caller got; `null` where it left before. */
  readonly status: number | null;
  readonly tokens: TokenCounts;
  readonly firstByteMs: number | null;
}

/** Which model call it was. */
export interface ModelCallNames {
  readonly model: string;
  readonly upstreamName: string;
  /** `null` where no model of the catalogue was found. */
  readonly provider: string | null;
  readonly dialect: Dialect;
  readonly streamed: boolean;
}

export interface RecorderOptions {
  readonly ledger: UsageLedger;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
}

export class Recorder {
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    // Every field of these lines is named here and is no secret: redacting each one again is a tenth of a small call.
    this.#options = { ...options, logger: options.logger.child({}, { redact: [] }) };
  }

  modelCall(call: Call, names: ModelCallNames, ending: ModelEnding): void {
    const { ledger, metrics, logger } = this.#options;
    const { sub: sessionId, trn: turnId, agt: agent } = call.token.claims;
    const id = makeId('usg');
    const durationMs = this.#since(call);
    ledger.add({
      id,
      at: call.at,
      sessionId,
      turnId,
      agent,
      ...names,
      ...ending,
      ...NO_HINTS,
      costUsd: null,
      duplicate: false,
      presumed: false,
      durationMs,
    });
    const { outcome, status, tokens, firstByteMs } = ending;
    metrics.modelCalls.inc({ dialect: names.dialect, outcome });
    if (firstByteMs !== null) metrics.firstByte.observe(firstByteMs / 1000);
    metrics.tokens.inc({ direction: 'input' }, tokens.input ?? 0);
    metrics.tokens.inc({ direction: 'output' }, tokens.output ?? 0);
    const { input, output } = tokens;
    logger.info(
      {
        id,
        session: sessionId,
        turn: turnId,
        agent,
        ...names,
        outcome,
        status,
        input,
        output,
        ms: durationMs,
      },
      'model call',
    );
  }

  /** Tells of each model of a call that did not answer, for which the next one was called. */
  passedOver(call: Call): (candidate: Candidate, reason: PassedOver['passedOver']) => void {
    const { metrics, logger } = this.#options;
    const { sub: session, trn: turn } = call.token.claims;
    return ({ model: { name: model, provider } }, reason) => {
      metrics.passedOver.inc({ reason });
      logger.warn({ session, turn, model, provider, reason }, 'model passed over');
    };
  }

  toolCall(call: Call, tool: string, outcome: HttpOutcome | 'http.undeclared' | 'completed'): void {
    this.#options.metrics.toolCalls.inc({ outcome });
    const { sub: session, trn: turn, agt: agent } = call.token.claims;
    this.#options.logger.info({ session, turn, agent, tool, outcome, ms: this.#since(call) }, 'tool call');
  }

  /** Counts a refusal for which there is no row: nobody to name, or a run that hammers on after its end. */
  refusal(reason: RefusalReason, source: string): void {
    this.#options.metrics.refusals.inc({ reason });
    this.#options.logger.debug({ source, reason }, 'refused');
  }

  /** Logs a fault: its class and code, nothing of what was asked. */
  readonly failure = (error: unknown): undefined => {
    this.#options.logger.error({ err: error }, 'call failed');
  };

  #since(call: Call): number {
    return this.#options.now().getTime() - call.at.getTime();
  }
}

export const NO_TOKENS: TokenCounts = {
  input: null,
  output: null,
  cached: null,
  cacheWrite: null,
  reasoning: null,
};
const NO_HINTS = { clientSession: null, clientAgent: null, clientParentAgent: null };
