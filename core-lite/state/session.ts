/**
 * The facts of a session, as the gates read them: its lease epoch, its active turn, its pinned manifest. Read in one
 * statement, so that they are of one moment; and whether a run's token still speaks for it.
 */
import type { Queryable } from '../database/pool.ts';
import type { EgressClaims, RunClaims, ServiceClaims } from '../tokens/token-kinds.ts';
import { type Manifest, type ManifestRow, restoreManifest } from './manifest/manifest.ts';

/** What egress may read of a session too. */
export interface TurnFacts {
  readonly id: string;
  readonly environmentId: string | null;
  readonly leaseEpoch: number;
  readonly activeTurn: string | null;
  readonly ended: boolean;
}

export interface SessionFacts extends TurnFacts {
  readonly agent: string;
  readonly user: string | null;
  readonly manifest: Manifest;
}

/** The facts of a session, open or ended, or `null`. Core and gates may. Rejects with Fault `database_unreachable`. */
export async function loadSessionFacts(db: Queryable, sessionId: string): Promise<SessionFacts | null> {
  const [row] = await db.query<SessionRow>(
    `SELECT ${TURN_COLUMNS}, s.agent, s.owner_user, s.manifest ${FROM}`,
    [sessionId],
  );
  if (!row) return null;
  const { agent, owner_user: user } = row;
  return { ...readTurnFacts(row), agent, user, manifest: restoreManifest(row.manifest) };
}

/** The part of them that egress may read, or `null`. Rejects with Fault `database_unreachable`. */
export async function loadTurnFacts(db: Queryable, sessionId: string): Promise<TurnFacts | null> {
  const [row] = await db.query<TurnRow>(`SELECT ${TURN_COLUMNS} ${FROM}`, [sessionId]);
  return row ? readTurnFacts(row) : null;
}

/** Whether a run token speaks for its session as it is now: at its lease epoch, for its active turn. */
export function decideRunStaleness(claims: RunClaims, facts: TurnFacts | null): 'run_stale' | null {
  if (!facts || facts.ended || facts.id !== claims.sub) return 'run_stale';
  return claims.epc === facts.leaseEpoch && claims.trn === facts.activeTurn ? null : 'run_stale';
}

/** Whether a call outside a run may be made for a session: while it is open. */
export function decideServiceStaleness(claims: ServiceClaims, facts: TurnFacts | null): 'run_stale' | null {
  return !facts || facts.ended || facts.id !== claims.sub ? 'run_stale' : null;
}

/**
 * Whether an egress token that was minted for a run may still be used: its turn is the active one. A token with no
 * turn speaks for its environment alone and is never stale here; one that names only half of a run is.
 */
export function decideTurnStaleness(
  { ses, trn }: EgressRunClaims,
  facts: TurnFacts | null,
): 'run_stale' | null {
  if (ses === undefined && trn === undefined) return null;
  if (!facts || facts.ended || facts.id !== ses) return 'run_stale';
  return trn !== undefined && trn === facts.activeTurn ? null : 'run_stale';
}

/** The claims of an egress token that name a run, where it was minted for one. */
type EgressRunClaims = Partial<Pick<EgressClaims, 'ses' | 'trn'>>;

interface TurnRow {
  readonly id: string;
  readonly environment_id: string | null;
  readonly lease_epoch: string;
  readonly active_turn: string | null;
  readonly ended: boolean;
}

interface SessionRow extends TurnRow {
  readonly agent: string;
  readonly owner_user: string | null;
  readonly manifest: ManifestRow;
}

function readTurnFacts(row: TurnRow): TurnFacts {
  return {
    id: row.id,
    environmentId: row.environment_id,
    leaseEpoch: Number(row.lease_epoch),
    activeTurn: row.active_turn,
    ended: row.ended,
  };
}

const TURN_COLUMNS = `s.id, s.environment_id, s.lease_epoch, s.ended_at IS NOT NULL AS ended, t.id AS active_turn`;
const FROM = `FROM sessions s LEFT JOIN turns t ON t.session_id = s.id AND t.state = 'active' WHERE s.id = $1`;
