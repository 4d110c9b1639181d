/**
 * The first set-up of an installation, and what every later start checks: schema, tenant, class keys, signing key,
 * egress CA, admin key. It runs as the database's owner; no service does. What is there already stays.
 */
import { makeAuthority } from '../certs/authority.ts';
import type { Config } from '../core-lite/config.ts';
import { migrate } from '../core-lite/database/migrate.ts';
import type { Database, Queryable } from '../core-lite/database/pool.ts';
import { Fault } from '../core-lite/errors.ts';
import { makeId } from '../core-lite/id.ts';
import { Secret } from '../core-lite/secret.ts';
import { makeAdminKey } from '../core-lite/state/admin.ts';
import { makeTenant } from '../core-lite/state/tenant.ts';
import { rotateSigningKey } from '../core-lite/tokens/signing-keys.ts';
import { makeClassKeys, openClassKey } from '../core-lite/vault/class-keys.ts';
import { loadMasterKeys } from '../core-lite/vault/master-key.ts';
import type { SealKey } from '../core-lite/vault/seal.ts';
import { authorityPlace } from '../egress/authority.ts';

export interface SetUp {
  /** Migrations that were applied now. */
  readonly migrations: readonly string[];
  /** The first admin key, if it was made now: it cannot be read again. */
  readonly adminKey: Secret | null;
}

/**
 * @param owner acts as the owner of the database
 * @param config names the master key; without one only the schema is brought up to date
 * Rejects with Fault `database_too_new`, `database_rights`, `master_key_missing` or `master_key_wrong`.
 */
export async function setUp(owner: Database, config: Config): Promise<SetUp> {
  const migrations = await migrate(owner);
  const adminKey = await owner.transaction(async (tx) => {
    // Two first starts at once make one installation.
    await tx.query('LOCK TABLE tenant IN EXCLUSIVE MODE');
    await makeTenant(tx);
    await ensureKeys(tx, config);
    const [admin] = await tx.query('SELECT 1 FROM admin_keys LIMIT 1');
    return admin ? null : makeAdminKey(tx, 'first');
  });
  return { migrations, adminKey };
}

/** Whether secrets were sealed in this database before: then a missing master key is not made anew. */
export async function isSealed(owner: Database): Promise<boolean> {
  const [row] = await owner.query<{ there: boolean }>(
    `SELECT to_regclass('public.class_keys') IS NOT NULL AS there`,
  );
  if (!row?.there) return false;
  return (await owner.query('SELECT 1 FROM class_keys LIMIT 1')).length > 0;
}

async function ensureKeys(tx: Queryable, config: Config): Promise<void> {
  const [sealed] = await tx.query('SELECT 1 FROM class_keys LIMIT 1');
  if (!sealed) {
    const { current } = await loadMasterKeys(config);
    if (!current) throw new Fault('master_key_missing', 'no master key is set');
    await makeClassKeys(tx, current);
  }
  const signing = await openClassKey(tx, config, 'signing');
  const [signs] = await tx.query(`SELECT 1 FROM signing_keys WHERE state = 'current'`);
  if (!signs) await rotateSigningKey(tx, signing);
  const [authority] = await tx.query(`SELECT 1 FROM authorities WHERE state = 'current'`);
  if (!authority) await insertAuthority(tx, await openClassKey(tx, config, 'egress'));
}

/** The egress CA's first generation. Its name carries its id: clients tell trusted CAs apart by name. */
async function insertAuthority(tx: Queryable, egress: SealKey): Promise<void> {
  const id = makeId('aut');
  const { certificatePem, privateKey } = makeAuthority({
    name: `Sallyport egress ${id.slice(-8)}`,
    now: new Date(),
  });
  const pem = new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  await tx.query('INSERT INTO authorities (id, state, certificate, sealed_private) VALUES ($1, $2, $3, $4)', [
    id,
    'current',
    certificatePem,
    egress.seal(pem, authorityPlace(id)),
  ]);
}
