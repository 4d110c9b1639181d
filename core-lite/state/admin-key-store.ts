/** Admin keys, several and named: added, listed, revoked. There is always one left that may do everything. */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { type AdminRole, insertAdminKey } from './admin.ts';

/** An admin key without the key. */
export interface AdminKeySummary {
  readonly id: string;
  readonly name: string;
  readonly role: AdminRole;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

export interface MadeAdminKey extends AdminKeySummary {
  /** It cannot be read again. */
  readonly key: Secret;
}

/** Rejects with Fault `conflict` where a live key has the name. @param tx a transaction */
export async function addAdminKey(tx: Queryable, name: string, role: AdminRole): Promise<MadeAdminKey> {
  // Two that take one name at once do not see each other's row: they take turns.
  await tx.query('LOCK TABLE admin_keys IN SHARE ROW EXCLUSIVE MODE');
  const [same] = await tx.query('SELECT 1 FROM admin_keys WHERE name = $1 AND revoked_at IS NULL', [name]);
  if (same) throw new Fault('conflict', 'there is an admin key of this name');
  const { id, key } = await insertAdminKey(tx, name, role);
  return { ...(await findAdminKey(tx, id)), key };
}

/**
 * Revokes a key: it is refused from that commit on. One that is revoked stays so. Rejects with Fault `not_found`, or
 * `conflict` for the last key that may do everything.
 * @param tx a transaction
 * @returns the key, or `null` where nothing was changed
 */
export async function revokeAdminKey(tx: Queryable, id: string): Promise<AdminKeySummary | null> {
  // Every full key is locked, in one order: two that are revoked at once must not both find the other one left.
  const full = await tx.query<{ id: string }>(
    `SELECT id FROM admin_keys WHERE role = 'full' AND revoked_at IS NULL ORDER BY id FOR UPDATE`,
  );
  if (full.length === 1 && full[0]?.id === id) {
    throw new Fault('conflict', 'the last full key cannot be revoked: add another one first');
  }
  const revoked = await tx.query(
    'UPDATE admin_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id',
    [id],
  );
  const key = await findAdminKey(tx, id);
  return revoked.length > 0 ? key : null;
}

/** Newest first, revoked ones too. */
export function listAdminKeys(db: Queryable): Promise<AdminKeySummary[]> {
  return db.query<AdminKeySummary>(`${SELECT} ORDER BY id DESC`);
}

async function findAdminKey(db: Queryable, id: string): Promise<AdminKeySummary> {
  const [row] = await db.query<AdminKeySummary>(`${SELECT} WHERE id = $1`, [id]);
  if (!row) throw new NoSuch('admin key', id);
  return row;
}

const SELECT = `SELECT id, name, role, created_at AS "createdAt", revoked_at AS "revokedAt" FROM admin_keys`;
