/**
 * The last stage: what is kept of a call. A model call that was decided has a row in the ledger and a log line, a
 * tool call a log line; what nobody can be named for is counted. Never a prompt, an argument, an answer or a secret.
 */
import type { Logger } from '../core-lite/log.ts';
import type { TokenCounts, UsageLedger } from '../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../core-lite/state/dialect.ts';
import type { PassedOver } from './act/first-look.ts';
import type { AnyCall, Call } from './calls.ts';
import { bookFigures, decideCharge, type Passed, presumeTokens } from './charge.ts';
import type { Candidate } from './decide/model-call.ts';
import type { McpOutcome } from './mcp/middle/outcomes.ts';
import type { Metrics } from './metrics.ts';
import { priceCall } from './price.ts';
import type { ClientHints } from './read/client-hints.ts';
import type { Outcome, RefusalReason } from './reasons.ts';
import type { ToolOutcome } from './tool-metrics.ts';

/** How a model call ended. */
export interface ModelEnding {
  readonly outcome: Outcome;
  /** What the caller got; `null` where it left before. */
  readonly status: number | null;
  readonly tokens: TokenCounts;
  readonly firstByteMs: number | null;
  /** What of an answer went through, whatever its usage says. */
  readonly passed?: Passed;
  /** It was an error that has nothing of the model. */
  readonly unbegun?: boolean;
}

/** Which model call it was. */
export interface ModelCallNames extends ClientHints {
  readonly model: string;
  readonly upstreamName: string;
  /** `null` where no model of the catalogue was found. */
  readonly provider: string | null;
  readonly dialect: Dialect;
  readonly streamed: boolean;
  /** It only asked how many tokens a call would have. */
  readonly counts: boolean;
}

/** What is told of a tool call beside how it ended. */
export interface ToolCallFacts {
  /** The trace that the tool was told of. */
  readonly trace: string;
  /** Of what the caller sent and of what it got: never anything of either. */
  readonly inputBytes: number;
  readonly resultBytes: number;
}

/** What is told of a request to an MCP server. */
export interface McpRequestFacts {
  readonly server: string;
  /** From a closed list. */
  readonly method: string;
  /** Of a call of a tool that the session was shown. */
  readonly tool: string | null;
  readonly outcome: McpOutcome;
  /** Of the params and of the result: never anything of either. */
  readonly inputBytes: number;
  readonly resultBytes: number;
  readonly ms: number;
}

export interface RecorderOptions {
  readonly ledger: UsageLedger;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
}

export class Recorder {
  readonly #options: RecorderOptions;
  /** The models of which it was said that their price is not known. */
  readonly #unpriced = new Set<string>();

  constructor(options: RecorderOptions) {
    // Every field of these lines is named here and is no secret: redacting each one again is a tenth of a small call.
    this.#options = { ...options, logger: options.logger.child({}, { redact: [] }) };
  }

  modelCall(call: Call, names: ModelCallNames, ending: ModelEnding): void {
    const { ledger, metrics, logger } = this.#options;
    const { sub: sessionId, trn: turnId, agt: agent } = call.token.claims;
    const { counts, ...named } = names;
    const { id } = call;
    const durationMs = this.#since(call);
    const { outcome, status, firstByteMs, passed, unbegun = false } = ending;
    // A provider takes nothing for a count, and its answer has no usage.
    const free = counts && outcome === 'completed';
    const told = free ? NOTHING : ending.tokens;
    const settled = decideCharge({ sent: call.sent, outcome, unbegun, tokens: told });
    const ended = { tokens: told, passed, ms: durationMs, reserved: call.reserved };
    const presumed = settled === 'none' ? null : presumeTokens(ended);
    const tokens = presumed ?? told;
    const charge = presumed ? 'reserved' : settled;
    const costUsd = free ? 0 : this.#price(call, names, tokens);
    const row = { id, at: call.at, sessionId, turnId, agent, ...named, outcome, status, tokens, costUsd };
    ledger.add({ ...row, firstByteMs, durationMs, duplicate: false, charge }, call.reserved !== null);
    const { model, upstreamName, provider, dialect, streamed } = names;
    const booked = bookFigures(charge, { tokens, costUsd }, call.reserved);
    metrics.modelCall({
      dialect,
      provider,
      outcome,
      told: { tokens: told, costUsd },
      booked,
      firstByteMs,
      durationMs,
    });
    const { input, output, cached, cacheWrite, reasoning } = booked.tokens;
    logger.info(
      {
        id,
        session: sessionId,
        turn: turnId,
        agent,
        model,
        upstreamName,
        provider,
        dialect,
        streamed,
        outcome,
        status,
        input,
        output,
        cached,
        cacheWrite,
        reasoning,
        costUsd: booked.costUsd,
        presumed: booked.presumed,
        firstByteMs,
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

  toolCall(call: AnyCall, tool: string, outcome: ToolOutcome, facts: ToolCallFacts): void {
    const ms = this.#since(call);
    this.#options.metrics.toolCall(outcome, ms, facts.resultBytes);
    const { sub: session, trn: turn, agt: agent } = call.token.claims;
    const { credentialId: credential } = call;
    const names = { session, turn, agent, tool, credential };
    this.#options.logger.info({ ...names, outcome, ...facts, ms }, 'tool call');
  }

  mcpRequest(call: AnyCall, { ms, ...facts }: McpRequestFacts): void {
    const { method, outcome, resultBytes } = facts;
    this.#options.metrics.mcpRequest({ method, outcome, durationMs: ms, resultBytes });
    const { sub: session, trn: turn, agt: agent } = call.token.claims;
    const { credentialId: credential } = call;
    this.#options.logger.info({ session, turn, agent, credential, ...facts, ms }, 'mcp request');
  }

  /** A server changed a tool under a session that had been shown it. */
  toolChanged(call: AnyCall, changed: { server: string; tool: string; action: 'report' | 'refuse' }): void {
    const { metrics, logger } = this.#options;
    const { sub: session, trn: turn, agt: agent } = call.token.claims;
    metrics.changedTools.inc({ action: changed.action });
    logger.warn({ session, turn, agent, ...changed }, 'mcp tool changed');
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

  #price(call: Call, { provider, upstreamName: model }: ModelCallNames, tokens: TokenCounts): number | null {
    const cost = priceCall({ provider, model, at: call.at }, tokens);
    if (cost !== null || tokens.input === null || tokens.output === null) return cost;
    const name = `${provider} ${model}`;
    if (!this.#unpriced.has(name) && this.#unpriced.size < MAX_UNPRICED) {
      this.#unpriced.add(name);
      this.#options.logger.warn(
        { provider, model },
        'no price is known for this model: its calls have no cost',
      );
    }
    return null;
  }

  #since(call: AnyCall): number {
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

const NOTHING: TokenCounts = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 };
/** More models than an operator has. */
const MAX_UNPRICED = 1_000;
