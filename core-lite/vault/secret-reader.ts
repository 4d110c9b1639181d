/**
 * Environment secrets, opened, for egress: read for every request, from memory only while the change feed is live, so
 * a rotation applies to the next request.
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import type { Queryable } from '../database/pool.ts';
import { Secret } from '../secret.ts';
import { type StoredSecretSettings, unpackSecret } from './credential.ts';
import { credentialPlace } from './credential-store.ts';
import type { OperatorValues, ValueFailure } from './operator-values.ts';
import { type Placement, readStoredPlacement } from './placement.ts';
import type { SealKey } from './seal.ts';
import { readValueSource, type ValueSource } from './value-source.ts';

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
type UnusableCode =
  /** The credential was deleted. */
  'CREDENTIAL_GONE' | ValueFailure;

export function isOpened(secret: OpenedSecret | UnusableSecret): secret is OpenedSecret {
  return !('unusable' in secret);
}

export function isUnusable(secret: OpenedSecret | UnusableSecret): secret is UnusableSecret {
  return 'unusable' in secret;
}

export class SecretReader {
  readonly #cache: LiveCache<StoredSecret | null>;
  readonly #operatorValues: OperatorValues;

  /** @param seal the class key `egress` */
  constructor(db: Queryable, feed: ChangeFeed, seal: SealKey, operatorValues: OperatorValues) {
    this.#operatorValues = operatorValues;
    this.#cache = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'credential' ? change.id : null),
      load: (id) => loadSecret(db, seal, id),
      maxKeys: 10_000,
    });
  }

  /** Rejects with Fault `database_unreachable` or `seal_broken`. */
  async read(credentialId: string): Promise<OpenedSecret | UnusableSecret> {
    const stored = await this.#cache.read(credentialId);
    if (!stored) return { credentialId, unusable: 'CREDENTIAL_GONE' };
    const { version, placement, content } = stored;
    if (content instanceof Secret) {
      return { credentialId, version, revision: String(version), placement, value: content };
    }
    const read = await this.#operatorValues.read(content);
    if (typeof read === 'string') return { credentialId, unusable: read };
    return { credentialId, version, revision: `${version}.${read.digest}`, placement, value: read.value };
  }
}

async function loadSecret(db: Queryable, seal: SealKey, id: string): Promise<StoredSecret | null> {
  const [row] = await db.query<SecretRow>(
    `SELECT version, sealed, settings FROM credentials WHERE id = $1 AND kind = 'environment_secret'`,
    [id],
  );
  if (!row) return null;
  const { version, sealed, settings } = row;
  const content = sealed
    ? unpackSecret(seal.open(sealed, credentialPlace(id, version)))['value']
    : readValueSource(settings.valueFrom ?? '');
  return content ? { version, placement: readStoredPlacement(settings.placement), content } : null;
}

interface StoredSecret {
  readonly version: number;
  readonly placement: Placement;
  /** The value itself, or where it comes from. */
  readonly content: Secret | ValueSource;
}

interface SecretRow {
  readonly version: number;
  readonly sealed: Buffer | null;
  readonly settings: StoredSecretSettings;
}
