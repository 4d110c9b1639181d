/**
 * Vaults and credentials as rows. Core writes them; a secret part is sealed with the class key of the gate that will
 * use it, for exactly this row and version, before it goes anywhere near a statement.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import { makeId } from '../id.ts';
import type { Secret } from '../secret.ts';
import type { KeyClass } from './class-keys.ts';
import { type Credential, type CredentialKind, packSecret } from './credential.ts';
import type { OauthFailureCode } from './oauth-failure.ts';
import type { SealKey } from './seal.ts';

export interface VaultSummary {
  readonly id: string;
  readonly name: string;
  readonly credentials: number;
  readonly createdAt: Date;
}

/** A credential without its secret part: what lists and answers show. */
export interface CredentialSummary {
  readonly id: string;
  readonly vault: string;
  readonly name: string;
  readonly kind: CredentialKind;
  readonly hosts: readonly string[];
  readonly user: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly version: number;
  /** Why an oauth credential has got no new token; `null` where nothing is known to be wrong. */
  readonly problem: OauthFailureCode | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The class keys that core seals with. */
export type Seals = Readonly<Record<KeyClass, SealKey>>;

/** Makes the vault if it is not there. */
export async function putVault(tx: Queryable, name: string): Promise<void> {
  await tx.query('INSERT INTO vaults (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
    makeId('vlt'),
    name,
  ]);
}

export function listVaults(db: Queryable): Promise<VaultSummary[]> {
  return db.query<VaultSummary>(
    `SELECT v.id, v.name, v.created_at AS "createdAt", count(c.id)::int AS credentials
       FROM vaults v LEFT JOIN credentials c ON c.vault_id = v.id GROUP BY v.id ORDER BY v.name`,
  );
}

/** Rejects with Fault `not_found`, or `conflict` while it holds credentials. */
export async function removeVault(tx: Queryable, name: string): Promise<void> {
  const id = await findVault(tx, name);
  const [held] = await tx.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM credentials WHERE vault_id = $1',
    [id],
  );
  if (held && held.n > 0) throw new Fault('conflict', `the vault ${name} still holds ${held.n} credentials`);
  await tx.query('DELETE FROM vaults WHERE id = $1', [id]);
}

/** Makes or replaces a credential; a replaced one gets a new version. Rejects with Fault `not_found` (the vault). */
export async function putCredential(
  tx: Queryable,
  seals: Seals,
  vault: string,
  name: string,
  credential: Credential,
): Promise<CredentialSummary> {
  const vaultId = await findVault(tx, vault);
  const [old] = await tx.query<OldCredential>(
    'SELECT id, kind, version, settings FROM credentials WHERE vault_id = $1 AND name = $2 FOR UPDATE',
    [vaultId, name],
  );
  if (old && old.kind !== credential.kind) {
    throw new Fault(
      'conflict',
      `${vault}/${name} is of the kind ${old.kind}: remove it to make it one of the kind ${credential.kind}`,
    );
  }
  if (old && classOf(old) !== classOf(credential)) {
    throw new Fault(
      'conflict',
      `an oauth credential gets or loses its variable: remove ${vault}/${name} first`,
    );
  }
  const id = old?.id ?? makeId('crd');
  const version = (old?.version ?? 0) + 1;
  const place = credentialPlace(id, version);
  const sealed = credential.secret && seals[classOf(credential)].seal(credential.secret, place);
  await tx.query(
    `INSERT INTO credentials (id, vault_id, name, kind, hosts, owner_user, settings, sealed, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (id) DO UPDATE SET hosts = $5, owner_user = $6, settings = $7, sealed = $8, version = $9,
       updated_at = now()`,
    [
      id,
      vaultId,
      name,
      credential.kind,
      credential.hosts,
      credential.user,
      credential.settings,
      sealed,
      version,
    ],
  );
  return findCredential(tx, vault, name);
}

/** Replaces only the secret part. Rejects with Fault `not_found` or `input_invalid`. */
export async function rotateCredential(
  tx: Queryable,
  seals: Seals,
  vault: string,
  name: string,
  parts: Readonly<Record<string, Secret>>,
): Promise<CredentialSummary> {
  const [row] = await tx.query<OldCredential>(
    `SELECT c.id, c.kind, c.version, c.settings FROM credentials c JOIN vaults v ON v.id = c.vault_id
      WHERE v.name = $1 AND c.name = $2 FOR UPDATE OF c`,
    [vault, name],
  );
  if (!row) throw new NoSuch('credential', `${vault}/${name}`);
  if (row.settings['grant'] === 'refresh_token' && !parts['refresh_token']) {
    throw new Fault('input_invalid', 'the grant refresh_token needs the secret part "refresh_token"');
  }
  if (row.settings['valueFrom'] !== undefined) {
    throw new Fault(
      'input_invalid',
      `egress reads the value of ${vault}/${name} from ${row.settings['valueFrom']}: change it there`,
    );
  }
  const version = row.version + 1;
  const sealed = seals[classOf(row)].seal(packSecret(row.kind, parts), credentialPlace(row.id, version));
  const settings = row.kind === 'headers' ? { ...row.settings, headers: Object.keys(parts) } : row.settings;
  await tx.query(
    'UPDATE credentials SET sealed = $2, version = $3, settings = $4, updated_at = now() WHERE id = $1',
    [row.id, sealed, version, settings],
  );
  return findCredential(tx, vault, name);
}

/** Rejects with Fault `not_found`, or `conflict` while an environment is bound to it or a model is called with it. */
export async function removeCredential(tx: Queryable, vault: string, name: string): Promise<void> {
  const { id } = await findCredential(tx, vault, name);
  const bound = await tx.query<{ name: string }>(
    `SELECT e.name FROM environment_credentials b JOIN environments e ON e.id = b.environment_id
      WHERE b.credential_id = $1 AND e.deleted_at IS NULL ORDER BY e.name`,
    [id],
  );
  if (bound.length > 0) {
    const names = bound.map((row) => row.name).join(', ');
    throw new Fault('conflict', `${vault}/${name} is bound to ${names}: take it out of there first`);
  }
  const models = await tx.query<{ name: string }>(
    'SELECT name FROM models WHERE credential_id = $1 ORDER BY name',
    [id],
  );
  if (models.length > 0) {
    const names = models.map((row) => row.name).join(', ');
    throw new Fault(
      'conflict',
      `${vault}/${name} is the credential of the model ${names}: give it another first`,
    );
  }
  await tx.query('DELETE FROM environment_credentials WHERE credential_id = $1', [id]);
  await tx.query('DELETE FROM credentials WHERE id = $1', [id]);
}

/** @param vault only this vault's, if given */
export function listCredentials(db: Queryable, vault?: string): Promise<CredentialSummary[]> {
  return db.query<CredentialSummary>(
    `SELECT ${SUMMARY} WHERE $1::text IS NULL OR v.name = $1 ORDER BY v.name, c.name`,
    [vault ?? null],
  );
}

/** Rejects with Fault `not_found`. */
export async function findCredential(db: Queryable, vault: string, name: string): Promise<CredentialSummary> {
  const [row] = await db.query<CredentialSummary>(`SELECT ${SUMMARY} WHERE v.name = $1 AND c.name = $2`, [
    vault,
    name,
  ]);
  if (!row) throw new NoSuch('credential', `${vault}/${name}`);
  return row;
}

/** SQL: whether the credential `c` is put on requests by egress. */
export const IS_PUT_ON = `(c.kind = 'environment_secret' OR c.kind = 'oauth' AND c.settings ? 'variable')`;

/** What a credential's seal is bound to. */
export function credentialPlace(id: string, version: number): string {
  return `credentials ${id} sealed ${version}`;
}

/** Who opens it: the gate that will use it. */
function classOf({ kind, settings }: Pick<OldCredential, 'kind' | 'settings'>): KeyClass {
  return kind === 'oauth' && 'variable' in settings ? 'egress' : CLASS_OF[kind];
}

async function findVault(db: Queryable, name: string): Promise<string> {
  const [row] = await db.query<{ id: string }>('SELECT id FROM vaults WHERE name = $1', [name]);
  if (!row) throw new NoSuch('vault', name);
  return row.id;
}

interface OldCredential {
  readonly id: string;
  readonly kind: CredentialKind;
  readonly version: number;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Who opens a kind: egress its environment secrets, gates the rest of what leaves, core what it gives to a pod. */
const CLASS_OF: Readonly<Record<CredentialKind, KeyClass>> = {
  model_key: 'gates',
  bearer: 'gates',
  headers: 'gates',
  oauth: 'gates',
  environment_secret: 'egress',
  environment_variable: 'signing',
};
const SUMMARY = `c.id, v.name AS vault, c.name, c.kind, c.hosts, c.owner_user AS "user", c.settings, c.version,
  g.failure AS problem, c.created_at AS "createdAt", c.updated_at AS "updatedAt"
  FROM credentials c JOIN vaults v ON v.id = c.vault_id LEFT JOIN oauth_grants g ON g.credential_id = c.id`;
