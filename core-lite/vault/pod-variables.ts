/**
 * What a workload of an environment gets in its variables: the names that hold the sentinel, and the plain values. An
 * environment secret is not opened here, whatever happens: core gives no secret to a pod.
 */
import type { Queryable } from '../database/pool.ts';
import { unpackSecret } from './credential.ts';
import { credentialPlace } from './credential-store.ts';
import type { SealKey } from './seal.ts';

export interface PodVariables {
  /** Variables of environment secrets, each once. */
  readonly sentinels: readonly string[];
  /** Plain variables. No secrets, though nobody logs them either. */
  readonly plain: Readonly<Record<string, string>>;
}

/**
 * A name that is both is a secret's. Rejects with Fault `seal_broken`.
 * @param seal the class key `signing`
 */
export async function loadPodVariables(
  db: Queryable,
  seal: SealKey,
  environmentId: string,
): Promise<PodVariables> {
  const rows = await db.query<VariableRow>(
    `SELECT c.id, c.kind, c.version, c.sealed, c.settings->>'variable' AS variable
       FROM environment_credentials b JOIN credentials c ON c.id = b.credential_id
      WHERE b.environment_id = $1 AND c.kind IN ('environment_secret', 'environment_variable')
      ORDER BY c.id`,
    [environmentId],
  );
  const secrets = rows.filter(({ kind }) => kind === 'environment_secret');
  const sentinels = [...new Set(secrets.map(({ variable }) => variable))];
  const plain = rows
    .filter(({ kind, variable }) => kind === 'environment_variable' && !sentinels.includes(variable))
    .map((row) => [row.variable, openPlain(seal, row)] as const);
  return { sentinels, plain: Object.fromEntries(plain) };
}

function openPlain(seal: SealKey, { id, version, sealed }: VariableRow): string {
  return unpackSecret(seal.open(sealed, credentialPlace(id, version)))['value']?.reveal() ?? '';
}

interface VariableRow {
  readonly id: string;
  readonly kind: string;
  readonly version: number;
  readonly sealed: Buffer;
  readonly variable: string;
}
