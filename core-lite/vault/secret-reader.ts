/**
 * What is put on requests, opened, for egress: read for every request, from memory only while the change feed is live, so
 * a rotation applies to the next request.
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import type { Queryable } from '../database/pool.ts';
import { Secret } from '../secret.ts';
import { type StoredSecretSettings, unpackSecret } from './credential.ts';
import { credentialPlace, IS_PUT_ON } from './credential-store.ts';
import { OauthFailure, type OauthFailureCode } from './oauth-failure.ts';
import type { OauthCredential } from './oauth-renewer.ts';
import type { OauthSettings } from './oauth-settings.ts';
import type { OauthTokens } from './oauth-tokens.ts';
import type { OperatorValues, ValueFailure } from './operator-values.ts';
import { type Placement, readStoredPlacement } from './placement.ts';
import type { SealKey } from './seal.ts';
import { readValueSource, type ValueSource } from './value-source.ts';

export interface OpenedSecret {
  readonly credentialId: string;
  /** Of the credential. */
  readonly version: number;
  /**
   * Changes with the value and tells nothing of it: the version, for a value from elsewhere with a keyed digest, for a
   * current token with its number.
   */
  readonly revision: string;
  readonly placement: Placement;
  readonly value: Secret;
  /** Which token of an oauth credential it is. */
  readonly token?: number;
}

/** A secret that cannot be put on anything now. */
export interface UnusableSecret {
  readonly credentialId: string;
  readonly unusable: UnusableCode;
}

/** Why not, for the answer and the log. */
type UnusableCode =
  /** The credential was deleted. */
  | 'CREDENTIAL_GONE'
  | ValueFailure
  /** There is no current token. */
  | OauthFailureCode;

/** Values that are not in the vault itself. */
interface OtherValues {
  readonly operator: OperatorValues;
  readonly tokens: OauthTokens;
}

export function isOpened(secret: OpenedSecret | UnusableSecret): secret is OpenedSecret {
  return !('unusable' in secret);
}

export function isUnusable(secret: OpenedSecret | UnusableSecret): secret is UnusableSecret {
  return 'unusable' in secret;
}

export class SecretReader {
  readonly #cache: LiveCache<StoredSecret | null>;
  readonly #load: (id: string) => Promise<StoredSecret | null>;
  readonly #values: OtherValues;

  /** @param seal the class key `egress` */
  constructor(db: Queryable, feed: ChangeFeed, seal: SealKey, values: OtherValues) {
    this.#values = values;
    this.#load = (id) => loadSecret(db, seal, id);
    this.#cache = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'credential' ? change.id : null),
      load: this.#load,
      maxKeys: 10_000,
    });
  }

  /** Rejects with Fault `database_unreachable` or `seal_broken`. */
  async read(credentialId: string): Promise<OpenedSecret | UnusableSecret> {
    const opened = await this.#open(credentialId, await this.#cache.read(credentialId));
    if (opened !== 'superseded') return opened;
    // It was rotated a moment ago: the notice is on its way.
    const again = await this.#open(credentialId, await this.#load(credentialId));
    return again === 'superseded' ? { credentialId, unusable: 'OAUTH_BUSY' } : again;
  }

  /**
   * An origin answered 401 to a request with this secret. Rejects with Fault `database_unreachable`.
   * @returns whether the next reading may give another value
   */
  async refuse({ credentialId, token }: OpenedSecret): Promise<boolean> {
    return token !== undefined && (await this.#values.tokens.refuse(credentialId, token));
  }

  async #open(
    credentialId: string,
    stored: StoredSecret | null,
  ): Promise<OpenedSecret | UnusableSecret | 'superseded'> {
    if (!stored) return { credentialId, unusable: 'CREDENTIAL_GONE' };
    const { version, placement, content } = stored;
    if (content instanceof Secret) {
      return { credentialId, version, revision: String(version), placement, value: content };
    }
    if ('settings' in content) return this.#openToken(content, placement);
    const read = await this.#values.operator.read(content);
    if (typeof read === 'string') return { credentialId, unusable: read };
    return { credentialId, version, revision: `${version}.${read.digest}`, placement, value: read.value };
  }

  async #openToken(
    credential: OauthCredential,
    placement: Placement,
  ): Promise<OpenedSecret | UnusableSecret | 'superseded'> {
    const { id: credentialId, version } = credential;
    const current = await this.#values.tokens.read(credential);
    if (current === 'superseded') return current;
    if (current instanceof OauthFailure) return { credentialId, unusable: current.code };
    const { version: token, value } = current;
    return { credentialId, version, revision: `${version}.${token}`, placement, value, token };
  }
}

async function loadSecret(db: Queryable, seal: SealKey, id: string): Promise<StoredSecret | null> {
  const [row] = await db.query<SecretRow>(
    `SELECT c.kind, c.version, c.sealed, c.settings FROM credentials c WHERE c.id = $1 AND ${IS_PUT_ON}`,
    [id],
  );
  if (!row) return null;
  const { version, settings } = row;
  const content = readContent(seal, id, row);
  return content ? { version, placement: readStoredPlacement(settings.placement), content } : null;
}

function readContent(seal: SealKey, id: string, row: SecretRow): StoredSecret['content'] | null {
  const { kind, version, sealed, settings } = row;
  if (!sealed) return readValueSource(settings.valueFrom ?? '');
  const parts = unpackSecret(seal.open(sealed, credentialPlace(id, version)));
  return kind === 'oauth' ? { id, version, settings, parts } : (parts['value'] ?? null);
}

interface StoredSecret {
  readonly version: number;
  readonly placement: Placement;
  /** The value itself, or where it comes from. */
  readonly content: Secret | ValueSource | OauthCredential;
}

interface SecretRow {
  readonly kind: string;
  readonly version: number;
  readonly sealed: Buffer | null;
  readonly settings: StoredSecretSettings & OauthSettings;
}
