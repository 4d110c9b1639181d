/**
 * Environment secrets, opened, for egress: read for every request, from memory only while the change feed is live, so
 * a rotation applies to the next request.
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import type { Queryable } from '../database/pool.ts';
import type { Secret } from '../secret.ts';
import { type Placement, unpackSecret } from './credential.ts';
import { credentialPlace } from './credential-store.ts';
import type { SealKey } from './seal.ts';

export interface OpenedSecret {
  readonly credentialId: string;
  readonly version: number;
  readonly placement: Placement;
  readonly value: Secret;
}

export class SecretReader {
  readonly #cache: LiveCache<OpenedSecret | null>;

  /** @param seal the class key `egress` */
  constructor(db: Queryable, feed: ChangeFeed, seal: SealKey) {
    this.#cache = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'credential' ? change.id : null),
      load: (id) => loadSecret(db, seal, id),
      maxKeys: 10_000,
    });
  }

  /** `null` where it was deleted. Rejects with Fault `database_unreachable` or `seal_broken`. */
  read(credentialId: string): Promise<OpenedSecret | null> {
    return this.#cache.read(credentialId);
  }
}

async function loadSecret(db: Queryable, seal: SealKey, id: string): Promise<OpenedSecret | null> {
  const [row] = await db.query<{ version: number; sealed: Buffer; settings: { placement: Placement } }>(
    `SELECT version, sealed, settings FROM credentials WHERE id = $1 AND kind = 'environment_secret'`,
    [id],
  );
  if (!row) return null;
  const { value } = unpackSecret(seal.open(row.sealed, credentialPlace(id, row.version)));
  return value ? { credentialId: id, version: row.version, placement: row.settings.placement, value } : null;
}
