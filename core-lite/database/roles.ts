/**
 * The three database roles. Made before the migrations, which grant to them. They cannot log in by themselves: an
 * operator gives each service a login that is a member of its role, or a password to the role itself.
 */
import { Fault } from '../errors.ts';
import type { Queryable, Role } from './pool.ts';

/**
 * Makes the roles that are missing and lets the current login act as them.
 * Rejects with Fault `database_rights`, its text holding the SQL for an administrator, if the login may not.
 */
export async function ensureRoles(db: Queryable): Promise<void> {
  const present = await db.query<{ rolname: string }>(
    'SELECT rolname FROM pg_roles WHERE rolname = ANY($1)',
    [ROLES],
  );
  const missing = ROLES.filter((role) => !present.some((row) => row.rolname === role));
  const [login] = await db.query<{ name: string; member: boolean | null }>(
    `SELECT quote_ident(current_user) AS name, bool_and(pg_has_role(current_user, oid, 'MEMBER')) AS member
       FROM pg_roles WHERE rolname = ANY($1)`,
    [ROLES],
  );
  if (missing.length === 0 && login?.member) return;
  try {
    for (const role of missing) await db.query(makeRole(role));
    await db.query(`GRANT ${ROLES.join(', ')} TO CURRENT_USER`);
  } catch (error) {
    const sql = roleSql(String(login?.name), missing);
    throw new Fault(
      'database_rights',
      `the login may not make the roles; have an administrator run: ${sql}`,
      error,
    );
  }
}

/**
 * What an administrator runs where the migrating login may not make roles, or not act as them.
 * @param login as SQL writes it: quoted where it has to be
 */
export function roleSql(login: string, missing: readonly Role[] = ROLES): string {
  const statements = [
    ...missing.map((role) => `CREATE ROLE ${role} NOLOGIN`),
    `GRANT ${ROLES.join(', ')} TO ${login}`,
  ];
  return statements.join('; ');
}

/** Roles are the whole server's: a migration of another database of it may make the same one at this moment. */
function makeRole(role: Role): string {
  return `DO $$ BEGIN CREATE ROLE ${role} NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`;
}

const ROLES: readonly Role[] = ['sallyport_core', 'sallyport_gates', 'sallyport_egress'];
