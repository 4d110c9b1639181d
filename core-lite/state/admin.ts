/**
 * Admin keys and admin events: who may change things, and the row that each change leaves in the same transaction.
 * A key is kept only as its SHA-256: it is 256 random bits, so no slower hash is needed.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../database/pool.ts';
import { makeId } from '../id.ts';
import { Secret } from '../secret.ts';

/** Who asked, as the event names it. */
export interface Actor {
  readonly id: string;
}

export type AdminRole = 'full' | 'read_only';

/** The actor of an admin key. */
export interface Admin extends Actor {
  readonly role: AdminRole;
}

export interface AdminEvent {
  /** noun and verb, for example `environment.put` */
  readonly action: string;
  /** the thing's name */
  readonly subject: string;
  /** what changed: never a secret */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface AdminEventRow extends AdminEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
}

/** Makes an admin key that may do everything. @returns the key; it cannot be read again */
export async function makeAdminKey(tx: Queryable, name: string): Promise<Secret> {
  return (await insertAdminKey(tx, name, 'full')).key;
}

/** Makes an admin key of this role. @returns its id, and the key, which cannot be read again */
export async function insertAdminKey(
  tx: Queryable,
  name: string,
  role: AdminRole,
): Promise<{ readonly id: string; readonly key: Secret }> {
  const id = makeId('adk');
  const key = new Secret(`${KEY_PREFIX}${randomBytes(32).toString('base64url')}`);
  await tx.query('INSERT INTO admin_keys (id, name, role, hash) VALUES ($1, $2, $3, $4)', [
    id,
    name,
    role,
    hash(key),
  ]);
  return { id, key };
}

/** The actor of this key, or `null`. */
export async function findAdmin(db: Queryable, key: Secret): Promise<Admin | null> {
  if (!KEY_SHAPE.test(key.reveal())) return null;
  const [row] = await db.query<Admin>(
    'SELECT id, role FROM admin_keys WHERE hash = $1 AND revoked_at IS NULL',
    [hash(key)],
  );
  return row ?? null;
}

/**
 * Makes a change and its event in one transaction: neither stands without the other. No event: nothing was changed,
 * because it was so already.
 */
export function changeAsAdmin<T>(
  database: Database,
  actor: Actor,
  change: (tx: Queryable) => Promise<{ result: T; event: AdminEvent | null }>,
): Promise<T> {
  return database.transaction(async (tx) => {
    const { result, event } = await change(tx);
    if (event) {
      await tx.query(
        'INSERT INTO admin_events (id, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5)',
        [makeId('aev'), actor.id, event.action, event.subject, event.detail],
      );
    }
    return result;
  });
}

/** Newest first. @param before only events older than this id */
export function listAdminEvents(db: Queryable, limit: number, before?: string): Promise<AdminEventRow[]> {
  return db.query<AdminEventRow>(
    `SELECT id, at, actor, action, subject, detail FROM admin_events
      WHERE $2::text IS NULL OR id < $2 ORDER BY id DESC LIMIT $1`,
    [limit, before ?? null],
  );
}

function hash(key: Secret): Buffer {
  return createHash('sha256').update(key.reveal()).digest();
}

const KEY_PREFIX = 'sak_';
const KEY_SHAPE = /^sak_[A-Za-z0-9_-]{43}$/;
