/** What the gates count for Prometheus. Labels come from closed lists only: a model's name in one could grow without bound. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { makeMcpMetrics } from './mcp/middle/metrics.ts';
import { type CountedCall, makeModelMetrics } from './model-metrics.ts';
import { makeToolMetrics } from './tool-metrics.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly modelCall: (call: CountedCall) => void;
  /** Models that did not answer and for which a fallback was called. */
  readonly passedOver: Counter<'reason'>;
  readonly toolCall: ReturnType<typeof makeToolMetrics>;
  readonly mcpRequest: ReturnType<typeof makeMcpMetrics>;
  /** Tools that an MCP server changed under a session. */
  readonly changedTools: Counter<'action'>;
  readonly refusals: Counter<'reason'>;
  readonly lost: Counter<'rows'>;
}

/** @param running how many calls run now */
export function makeMetrics(running: () => number, feedLive: () => boolean): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  gauge(
    registry,
    'sallyport_gates_running_calls',
    'Calls that run now, and those whose body still comes',
    running,
  );
  gauge(registry, 'sallyport_gates_feed_live', 'Whether the change feed is live', () => (feedLive() ? 1 : 0));
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `sallyport_gates_${name}_total`, help, labelNames, registers });
  return {
    registry,
    modelCall: makeModelMetrics(registry),
    passedOver: counter('passed_over', 'Models that did not answer and for which a fallback was called', [
      'reason',
    ]),
    toolCall: makeToolMetrics(registry),
    mcpRequest: makeMcpMetrics(registry),
    changedTools: counter('mcp_changed_tools', 'Tools that an MCP server changed under a session', [
      'action',
    ]),
    refusals: counter('refusals', 'Refusals that have no row', ['reason']),
    lost: counter('lost_rows', 'Rows of the ledger that could not be written', ['rows']),
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
