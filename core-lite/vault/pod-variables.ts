/**
 * What a workload of an environment gets in its variables: the names that hold the sentinel, and the plain values,
 * placeholders of secrets among them. An environment secret is not opened here: core gives no secret to a pod.
 */
import type { Queryable } from '../database/pool.ts';
import { unpackSecret } from './credential.ts';
import { credentialPlace, IS_PUT_ON } from './credential-store.ts';
import { SENTINEL } from './placement.ts';
import type { SealKey } from './seal.ts';

export interface PodVariables {
  /** Variables of environment secrets, each once. */
  readonly sentinels: readonly string[];
  /** Plain variables, and those that hold a secret's own placeholder. No secrets, though nobody logs them either. */
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
    `SELECT c.id, c.kind, c.version, c.sealed, c.settings->>'variable' AS variable,
            c.settings->'placement'->>'placeholder' AS placeholder
       FROM environment_credentials b JOIN credentials c ON c.id = b.credential_id
      WHERE b.environment_id = $1 AND (c.kind = 'environment_variable' OR ${IS_PUT_ON})
      ORDER BY c.id`,
    [environmentId],
  );
  const secrets = rows.filter(({ kind }) => kind !== 'environment_variable');
  const placeholders = secrets.flatMap(({ variable, placeholder }) =>
    placeholder === null || placeholder === SENTINEL ? [] : [[variable, placeholder] as const],
  );
  const own = new Set(placeholders.map(([variable]) => variable));
  const names = new Set(secrets.map(({ variable }) => variable));
  const plain = rows
    .filter(({ kind, variable }) => kind === 'environment_variable' && !names.has(variable))
    .map((row) => [row.variable, openPlain(seal, row)] as const);
  return {
    sentinels: [...names].filter((name) => !own.has(name)),
    plain: Object.fromEntries([...plain, ...placeholders]),
  };
}

function openPlain(seal: SealKey, { id, version, sealed }: VariableRow): string {
  if (!sealed) return '';
  return unpackSecret(seal.open(sealed, credentialPlace(id, version)))['value']?.reveal() ?? '';
}

interface VariableRow {
  readonly id: string;
  readonly kind: string;
  readonly version: number;
  /** `null` for a secret whose value is not in the vault. */
  readonly sealed: Buffer | null;
  readonly variable: string;
  readonly placeholder: string | null;
}
