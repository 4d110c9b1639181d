/**
 * The record judged anew: egress's own decision over each place that was asked for, with a policy of today. As if
 * nothing were open, since what was open then is not on record. It opens and looks up nothing.
 */
import type { Decision } from '../../core-lite/decision.ts';
import type { NetworkPolicy } from '../../core-lite/network/policy.ts';
import { parseTarget } from '../../core-lite/network/target.ts';
import { decideConnect } from '../../egress/decide/connect.ts';

/** Somewhere that was asked for; `host` and `port` as they were recorded. */
export interface Asked {
  readonly host: string;
  readonly port: number;
}

export interface Replayed<Row extends Asked> {
  readonly row: Row;
  readonly decision: Decision;
}

/** Each row with the decision of `network`. Throws where a row is no target: egress records none that is not. */
export function replay<Row extends Asked>(
  rows: readonly Row[],
  network: NetworkPolicy,
): readonly Replayed<Row>[] {
  return rows.map((row) => {
    const target = parseTarget(`${row.host}:${row.port}`);
    if (target === null) throw new Error('a recorded connection has no target');
    // Secrets decide what is done with a connection, not whether there is one.
    return { row, decision: decideConnect({ target, network, bindings: [], open: 0, recent: 0 }) };
  });
}
