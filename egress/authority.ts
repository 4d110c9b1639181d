/**
 * The egress CA, opened for as long as this process runs. Its key is sealed with the class key that only egress opens;
 * it leaves neither this module nor the leaves' maker. Another generation takes its place when the feed tells of one.
 */
import { createPrivateKey } from 'node:crypto';
import { type Authority, openAuthority } from '../certs/authority.ts';
import { LeafCache } from '../certs/leaf-cache.ts';
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import type { Queryable } from '../core-lite/database/pool.ts';
import { Fault } from '../core-lite/errors.ts';
import type { Logger } from '../core-lite/log.ts';
import type { SealKey } from '../core-lite/vault/seal.ts';

/**
 * The leaves of the current generation, kept current by the feed.
 * Rejects with Fault `database_not_migrated` (no CA yet) or `seal_broken`.
 */
export async function openLeaves(
  db: Queryable,
  seal: SealKey,
  feed: ChangeFeed,
  log: Logger,
): Promise<LeafCache> {
  const leaves = new LeafCache(await loadAuthority(db, seal));
  const reload = async (): Promise<void> => {
    try {
      leaves.replaceAuthority(await loadAuthority(db, seal));
    } catch (error) {
      log.error({ err: error }, 'the new egress CA could not be opened; the one before goes on');
    }
  };
  feed.subscribe({
    change: (change) => {
      if (change.kind === 'authority') void reload();
    },
    restored: () => void reload(),
  });
  return leaves;
}

async function loadAuthority(db: Queryable, seal: SealKey): Promise<Authority> {
  const [row] = await db.query<{ id: string; certificate: string; sealed_private: Buffer }>(
    `SELECT id, certificate, sealed_private FROM authorities WHERE state = 'current'`,
  );
  if (!row) throw new Fault('database_not_migrated', 'the egress CA has not been made yet');
  const pem = seal.open(row.sealed_private, authorityPlace(row.id));
  return openAuthority({ certificatePem: row.certificate, privateKey: createPrivateKey(pem.reveal()) });
}

/** What the CA key's seal is bound to. */
export function authorityPlace(id: string): string {
  return `authorities ${id} sealed_private 1`;
}
