/**
 * The facts of an environment, as the gates read them: live, at which host epoch and pod, with its policy and
 * bindings. Read in one statement, so that they are of one moment.
 */
import type { Queryable } from '../database/pool.ts';
import { type Binding, type NetworkPolicy, parseHostPatterns } from '../network/policy.ts';
import type { VerifiedToken } from '../tokens/verify.ts';
import type { StoredSecretSettings } from '../vault/credential.ts';
import { IS_PUT_ON } from '../vault/credential-store.ts';
import { readStoredPlacement } from '../vault/placement.ts';
import { NO_RULES } from '../vault/request-rules.ts';

export interface EnvironmentFacts {
  readonly id: string;
  readonly name: string;
  readonly hostEpoch: number;
  /** The pod that may act for it now; `none` before one has joined. */
  readonly podUid: string;
  readonly network: NetworkPolicy;
  readonly bindings: readonly Binding[];
}

/** Why a verified token does not speak for its environment any more. */
export type Staleness = 'environment_gone' | 'host_superseded';

/** The facts of a live environment, or `null`. Rejects with Fault `database_unreachable`. */
export async function loadEnvironmentFacts(db: Queryable, id: string): Promise<EnvironmentFacts | null> {
  const [row] = await db.query<EnvironmentRow>(FACTS, [id]);
  if (!row) return null;
  return {
    id: row.id,
    name: row.name,
    hostEpoch: Number(row.host_epoch),
    podUid: row.pod_uid ?? NO_POD,
    network: {
      mode: row.mode,
      allow: parseHostPatterns(row.allow),
      maxConnections: row.max_connections,
      newPerSecond: row.new_per_second,
    },
    bindings: row.bindings.map(readBinding),
  };
}

function readBinding({ credentialId, version, hosts, settings }: BindingRow): Binding {
  return {
    credentialId,
    version,
    hosts: parseHostPatterns(hosts),
    placement: readStoredPlacement(settings.placement),
    rules: settings.rules ?? NO_RULES,
  };
}

/** Whether a token speaks for the environment as it is now: at its host epoch and for its pod. */
export function decideStaleness(
  token: VerifiedToken<'egress' | 'host'>,
  facts: EnvironmentFacts | null,
): Staleness | null {
  if (!facts) return 'environment_gone';
  const current = token.claims.hep === facts.hostEpoch && token.claims.pod === facts.podUid;
  return current ? null : 'host_superseded';
}

/** What stands for the pod in tokens of an environment that no pod has joined yet. */
export const NO_POD = 'none';

interface EnvironmentRow {
  readonly id: string;
  readonly name: string;
  readonly mode: NetworkPolicy['mode'];
  readonly allow: readonly string[];
  readonly max_connections: number;
  readonly new_per_second: number;
  readonly host_epoch: string;
  readonly pod_uid: string | null;
  readonly bindings: readonly BindingRow[];
}

interface BindingRow {
  readonly credentialId: string;
  readonly version: number;
  readonly hosts: readonly string[];
  readonly settings: StoredSecretSettings;
}

const FACTS = `
  SELECT e.id, e.name, e.mode, e.allow, e.max_connections, e.new_per_second, e.host_epoch, e.pod_uid,
    COALESCE((
      SELECT json_agg(json_build_object('credentialId', c.id, 'version', c.version, 'hosts', c.hosts,
               'settings', c.settings) ORDER BY c.id)
        FROM environment_credentials b JOIN credentials c ON c.id = b.credential_id
       WHERE b.environment_id = e.id AND ${IS_PUT_ON}
    ), '[]') AS bindings
  FROM environments e WHERE e.id = $1 AND e.deleted_at IS NULL`;
