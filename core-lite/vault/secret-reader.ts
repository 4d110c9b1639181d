/**
 * Environment secrets, opened, for egress: read for every request, from memory only while the change feed is live, so
 * a rotation applies to the next request.
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import type { Queryable } from '../database/pool.ts';
import type { Secret } from '../secret.ts';
import { type StoredSecretSettings, unpackSecret } from './credential.ts';
import { credentialPlace } from './credential-store.ts';
import { type Placement, readStoredPlacement } from './placement.ts';
import type { SealKey } from './seal.ts';

export interface OpenedSecret {
  readonly credentialId: string;
  /** Of the credential. */
  readonly version: number;
  /** Changes with the value and tells nothing of it: the version, for a value from elsewhere with a keyed digest. */
  readonly revision: string;
  readonly placement: Placement;
  readonly value: Secret;
}

/** A secret that cannot be put on anything now. */
export interface UnusableSecret {
  readonly credentialId: string;
  readonly unusable: UnusableCode;
}

/** Why not, for the answer and the log. */
export type UnusableCode =
  /** The credential was deleted. */
  'CREDENTIAL_GONE';

export function isOpened(secret: OpenedSecret | UnusableSecret): secret is OpenedSecret {
  return !('unusable' in secret);
}

export function isUnusable(secret: OpenedSecret | UnusableSecret): secret is UnusableSecret {
  return 'unusable' in secret;
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

  /** Rejects with Fault `database_unreachable` or `seal_broken`. */
  async read(credentialId: string): Promise<OpenedSecret | UnusableSecret> {
    return (await this.#cache.read(credentialId)) ?? { credentialId, unusable: 'CREDENTIAL_GONE' };
  }
}

async function loadSecret(db: Queryable, seal: SealKey, id: string): Promise<OpenedSecret | null> {
  const [row] = await db.query<SecretRow>(
    `SELECT version, sealed, settings FROM credentials WHERE id = $1 AND kind = 'environment_secret'`,
    [id],
  );
  if (!row) return null;
  const { version, sealed, settings } = row;
  const { value } = unpackSecret(seal.open(sealed, credentialPlace(id, version)));
  if (!value) return null;
  const placement = readStoredPlacement(settings.placement);
  return { credentialId: id, version, revision: String(version), placement, value };
}

interface SecretRow {
  readonly version: number;
  readonly sealed: Buffer;
  readonly settings: StoredSecretSettings;
}
