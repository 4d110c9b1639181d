/** Runs of the product for a kit: a session with a turn that is leased, all through the admin API. */
import type { CallApi } from './admin-api.ts';

export interface LeasedRun {
  readonly session: string;
  readonly turn: string;
  readonly agent: string;
  readonly leaseEpoch: number;
  /** Lives 15 minutes. */
  readonly runToken: string;
}

/** @param manifest of its session, as the API takes it */
export async function openRun(call: CallApi, manifest: object): Promise<LeasedRun> {
  const session = await call<{ id: string }>('POST', '/v1/sessions', { agent: AGENT, manifest });
  const turn = await call<{ id: string }>('POST', `/v1/sessions/${session.id}/turns`);
  return { session: session.id, turn: turn.id, agent: AGENT, ...(await takeLease(call, turn.id)) };
}

/** Takes the lease from whoever had it: every older run token of the turn's session is stale then. */
export async function takeLease(
  call: CallApi,
  turn: string,
): Promise<Pick<LeasedRun, 'leaseEpoch' | 'runToken'>> {
  return call('POST', `/v1/turns/${turn}/lease`, { holder: 'a kit' });
}

const AGENT = 'kit';
