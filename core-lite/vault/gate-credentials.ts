/**
 * The credentials of the gates, opened: read for every call, from memory only while the change feed is live, so a
 * rotation applies to the next call. By id (models name theirs so) or as `vault/name` (manifests do).
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import type { Queryable } from '../database/pool.ts';
import type { HostPattern } from '../network/host-pattern.ts';
import { parseHostPatterns } from '../network/policy.ts';
import type { Secret } from '../secret.ts';
import { type CredentialKind, unpackSecret } from './credential.ts';
import { credentialPlace } from './credential-store.ts';
import type { SealKey } from './seal.ts';

export interface GateCredential {
  readonly id: string;
  readonly version: number;
  readonly kind: CredentialKind;
  readonly hosts: readonly HostPattern[];
  /** Whose it is, when it is one person's. */
  readonly user: string | null;
  /** Secret parts by name: `value`, or for `headers` each header's name. */
  readonly parts: Readonly<Record<string, Secret>>;
}

export class GateCredentials {
  readonly #cache: LiveCache<GateCredential | null>;

  /** @param seal the class key `gates` */
  constructor(db: Queryable, feed: ChangeFeed, seal: SealKey) {
    this.#cache = new LiveCache(feed, {
      // A notice names an id and a manifest a name, maybe of one that was not there before; changes are rare.
      staleKeys: (change) => (change.kind === 'credential' ? 'all' : null),
      load: (key) => loadCredential(db, seal, key),
      maxKeys: 10_000,
    });
  }

  /**
   * @param key an id, or `vault/name`
   * @returns `null` where there is none. Rejects with Fault `database_unreachable` or `seal_broken`.
   */
  read(key: string): Promise<GateCredential | null> {
    return this.#cache.read(key);
  }
}

async function loadCredential(db: Queryable, seal: SealKey, key: string): Promise<GateCredential | null> {
  const [vault, name] = key.split('/');
  const [row] = await db.query<CredentialRow>(
    name === undefined ? `${SELECT} WHERE c.id = $1` : `${SELECT} WHERE v.name = $1 AND c.name = $2`,
    name === undefined ? [key] : [vault, name],
  );
  if (!row) return null;
  const { id, version, kind, hosts, user } = row;
  return {
    id,
    version,
    kind,
    user,
    hosts: parseHostPatterns(hosts),
    parts: unpackSecret(seal.open(row.sealed, credentialPlace(id, version))),
  };
}

interface CredentialRow {
  readonly id: string;
  readonly version: number;
  readonly kind: CredentialKind;
  readonly hosts: readonly string[];
  readonly user: string | null;
  readonly sealed: Buffer;
}

const SELECT = `SELECT c.id, c.version, c.kind, c.hosts, c.owner_user AS "user", c.sealed
  FROM credentials c JOIN vaults v ON v.id = c.vault_id`;
