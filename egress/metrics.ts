/** What egress counts for Prometheus. Labels come from closed lists only: a host in a label would grow without bound. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  readonly connections: Counter<'verdict' | 'reason'>;
  readonly refusals: Counter<'reason'>;
  readonly exchanges: Counter<'reason'>;
  readonly masked: Counter;
  readonly lost: Counter<'rows'>;
  /** Seconds from the CONNECT to its 200. */
  readonly setup: Histogram;
}

/** @param open how many connections are open or being opened */
export function makeMetrics(open: () => number, feedLive: () => boolean): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  gauge(registry, 'sallyport_egress_open_connections', 'Connections open or being opened', open);
  gauge(registry, 'sallyport_egress_feed_live', 'Whether the change feed is live', () =>
    feedLive() ? 1 : 0,
  );
  return {
    registry,
    connections: new Counter({
      name: 'sallyport_egress_connections_total',
      help: 'Recorded connections, by their last verdict and reason',
      labelNames: ['verdict', 'reason'],
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'sallyport_egress_refusals_total',
      help: 'Refusals that are counted, not recorded',
      labelNames: ['reason'],
      registers: [registry],
    }),
    exchanges: new Counter({
      name: 'sallyport_egress_exchanges_total',
      help: 'Requests inside interceptions and plain ones, by what became of them',
      labelNames: ['reason'],
      registers: [registry],
    }),
    masked: new Counter({
      name: 'sallyport_egress_masked_total',
      help: 'Times that a secret was masked in an answer',
      registers: [registry],
    }),
    lost: new Counter({
      name: 'sallyport_egress_lost_rows_total',
      help: 'Rows of the record that could not be written',
      labelNames: ['rows'],
      registers: [registry],
    }),
    setup: new Histogram({
      name: 'sallyport_egress_setup_seconds',
      help: 'From a CONNECT to its 200',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
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
