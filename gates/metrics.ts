/** What the gates count for Prometheus. Labels come from closed lists only: a model's name in one could grow without bound. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  readonly modelCalls: Counter<'dialect' | 'outcome'>;
  /** Models that did not answer and for which a fallback was called. */
  readonly passedOver: Counter<'reason'>;
  readonly toolCalls: Counter<'outcome'>;
  readonly refusals: Counter<'reason'>;
  readonly tokens: Counter<'direction'>;
  readonly lost: Counter<'rows'>;
  /** Seconds from a model call's arrival to the first byte of its answer. */
  readonly firstByte: Histogram;
}

/** @param running how many calls run now */
export function makeMetrics(running: () => number, feedLive: () => boolean): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  gauge(registry, 'sallyport_gates_running_calls', 'Calls that run now', running);
  gauge(registry, 'sallyport_gates_feed_live', 'Whether the change feed is live', () => (feedLive() ? 1 : 0));
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `sallyport_gates_${name}_total`, help, labelNames, registers });
  return {
    registry,
    modelCalls: counter('model_calls', 'Model calls in the ledger, by how they ended', [
      'dialect',
      'outcome',
    ]),
    passedOver: counter('passed_over', 'Models that did not answer and for which a fallback was called', [
      'reason',
    ]),
    toolCalls: counter('tool_calls', 'Calls of HTTP tools, by how they ended', ['outcome']),
    refusals: counter('refusals', 'Refusals that have no row', ['reason']),
    tokens: counter('tokens', 'Tokens that providers counted', ['direction']),
    lost: counter('lost_rows', 'Rows of the ledger that could not be written', ['rows']),
    firstByte: new Histogram({
      name: 'sallyport_gates_first_byte_seconds',
      help: 'From a model call’s arrival to the first byte of its answer',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
  };
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
