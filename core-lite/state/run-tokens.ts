/** The tokens of a run: one for the gates and, where its session has an environment, one for egress. Only core mints. */
import type { Queryable } from '../database/pool.ts';
import { type MintedToken, mintToken } from '../tokens/mint.ts';
import { loadSigningKey } from '../tokens/signing-keys.ts';
import type { SealKey } from '../vault/seal.ts';
import { NO_POD } from './environment.ts';
import type { Run } from './lease-store.ts';

/** What minting needs. */
export interface Mint {
  readonly signing: SealKey;
  readonly tenantId: string;
  readonly now: Date;
}

export interface RunTokens {
  readonly run: MintedToken;
  /** `null` where the session has no environment, or it was deleted. */
  readonly egress: MintedToken | null;
}

/** Rejects with a Fault if the signing key cannot be read. @param tx the transaction that proved the run */
export async function mintRunTokens(tx: Queryable, run: Run, mint: Mint): Promise<RunTokens> {
  const key = await loadSigningKey(tx, mint.signing);
  const { sessionId: ses, turnId: trn, agent: agt, leaseEpoch: epc } = run;
  const host = run.environmentId === null ? null : await loadHost(tx, run.environmentId);
  return {
    run: await mintToken('run', { sub: ses, trn, agt, epc }, key, mint.tenantId, mint.now),
    egress: host && (await mintToken('egress', { ...host, ses, trn }, key, mint.tenantId, mint.now)),
  };
}

/** Whether a holder of tokens that expire then should get new ones; `null`: it holds none. */
export function needsTokens(expiresAt: Date | null, now: Date): boolean {
  return expiresAt === null || expiresAt.getTime() - now.getTime() < RENEW_BELOW_MS;
}

async function loadHost(tx: Queryable, environmentId: string) {
  const [row] = await tx.query<{ hep: number; pod: string | null }>(
    `SELECT host_epoch::float8 AS hep, pod_uid AS pod FROM environments WHERE id = $1 AND deleted_at IS NULL`,
    [environmentId],
  );
  return row ? { sub: environmentId, hep: row.hep, pod: row.pod ?? NO_POD } : null;
}

/** A third of a token's life: time for several heartbeats to fail. */
const RENEW_BELOW_MS = 5 * 60_000;
