/** Environments as rows. Core writes them; deleting one ends what it opened, on every replica, through its notice. */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import { makeId } from '../id.ts';
import { formatHostPatterns, type NetworkPolicy, parseHostPatterns } from '../network/policy.ts';
import { IS_PUT_ON } from '../vault/credential-store.ts';

export const ENVIRONMENT_KINDS = ['pod', 'virtual', 'none'] as const;

/** An environment as an operator gives it. */
export interface EnvironmentInput {
  readonly kind: (typeof ENVIRONMENT_KINDS)[number];
  readonly mode: NetworkPolicy['mode'];
  /** Host patterns. */
  readonly allow: readonly string[];
  readonly maxConnections: number;
  readonly newPerSecond: number;
  /** Environment secrets and variables, each as `vault/credential`. */
  readonly credentials: readonly string[];
}

export interface Environment extends EnvironmentInput {
  readonly id: string;
  readonly name: string;
  readonly hostEpoch: number;
  readonly podUid: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Makes the environment or replaces what it may reach; its id, host epoch and pod stay.
 * Rejects with Fault `input_invalid` (a pattern) or `not_found` (a credential).
 * @param tx a transaction
 */
export async function putEnvironment(
  tx: Queryable,
  name: string,
  input: EnvironmentInput,
): Promise<Environment> {
  const allow = formatHostPatterns(parseHostPatterns(input.allow));
  const [row] = await tx.query<{ id: string }>(
    `INSERT INTO environments (id, name, kind, mode, allow, max_connections, new_per_second)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (name) WHERE deleted_at IS NULL DO UPDATE
       SET kind = $3, mode = $4, allow = $5, max_connections = $6, new_per_second = $7, updated_at = now()
     RETURNING id`,
    [makeId('env'), name, input.kind, input.mode, allow, input.maxConnections, input.newPerSecond],
  );
  await bindCredentials(tx, row?.id as string, input.credentials);
  return findEnvironment(tx, name);
}

/** Rejects with Fault `not_found`. @returns the id of what was deleted */
export async function removeEnvironment(tx: Queryable, name: string): Promise<string> {
  const [row] = await tx.query<{ id: string }>(
    'UPDATE environments SET deleted_at = now() WHERE name = $1 AND deleted_at IS NULL RETURNING id',
    [name],
  );
  if (!row) throw missing(name);
  await tx.query('DELETE FROM environment_credentials WHERE environment_id = $1', [row.id]);
  return row.id;
}

export function listEnvironments(db: Queryable): Promise<Environment[]> {
  return db.query<Environment>(`${SELECT} WHERE e.deleted_at IS NULL ORDER BY e.name`);
}

/** Rejects with Fault `not_found`. */
export async function findEnvironment(db: Queryable, name: string): Promise<Environment> {
  const [row] = await db.query<Environment>(`${SELECT} WHERE e.deleted_at IS NULL AND e.name = $1`, [name]);
  if (!row) throw missing(name);
  return row;
}

async function bindCredentials(tx: Queryable, id: string, names: readonly string[]): Promise<void> {
  const wanted = [...new Set(names)];
  const rows = await tx.query<{ id: string; name: string; kind: string; fits: boolean }>(
    `SELECT c.id, v.name || '/' || c.name AS name, c.kind, c.kind = 'environment_variable' OR ${IS_PUT_ON} AS fits FROM credentials c JOIN vaults v ON v.id = c.vault_id
      WHERE v.name || '/' || c.name = ANY($1)`,
    [wanted],
  );
  for (const name of wanted) {
    const row = rows.find((candidate) => candidate.name === name);
    if (!row) throw new NoSuch('credential', name);
    if (!row.fits) {
      const why = row.kind === 'oauth' ? 'has no variable' : `is a ${row.kind}`;
      throw new Fault(
        'input_invalid',
        `${name} ${why}: an environment takes secrets, oauth with a variable, and variables only`,
      );
    }
  }
  const ids = rows.map((row) => row.id);
  await tx.query(
    'DELETE FROM environment_credentials WHERE environment_id = $1 AND NOT credential_id = ANY($2)',
    [id, ids],
  );
  await tx.query(
    `INSERT INTO environment_credentials (environment_id, credential_id)
     SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
    [id, ids],
  );
}

function missing(name: string): Fault {
  return new NoSuch('environment', name);
}

const SELECT = `
  SELECT e.id, e.name, e.kind, e.mode, e.allow, e.max_connections AS "maxConnections",
    e.new_per_second AS "newPerSecond", e.host_epoch::float8 AS "hostEpoch", e.pod_uid AS "podUid",
    e.created_at AS "createdAt", e.updated_at AS "updatedAt",
    ARRAY(SELECT v.name || '/' || c.name FROM environment_credentials b
            JOIN credentials c ON c.id = b.credential_id JOIN vaults v ON v.id = c.vault_id
           WHERE b.environment_id = e.id ORDER BY 1) AS credentials
  FROM environments e`;
