/** `migrate`: sets a database up, or brings it to this program's schema. Works as the database's owner. */
import { readConfig } from '../../core-lite/config.ts';
import { openDatabase } from '../../core-lite/database/pool.ts';
import { roleSql } from '../../core-lite/database/roles.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { requireDatabaseUrl, withMasterKey } from '../home.ts';

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'sets the database up, or brings its schema up to date; needs the owner’s DATABASE_URL',
  args: [],
  options: {
    'print-roles': {
      type: 'boolean',
      help: 'prints the SQL that an administrator runs where the owner may not make roles; does nothing',
    },
  },
  notes: [
    'The first time it also makes the keys and prints the first admin key. That needs a master key, 32 random bytes in base64: openssl rand -base64 32 > master.key, then SALLYPORT_MASTER_KEY_FILE=master.key.',
    'The services log in as members of the roles sallyport_core, sallyport_gates and sallyport_egress, which have the least rights that each needs.',
  ],
  examples: [
    'DATABASE_URL=postgres://owner@db/sallyport SALLYPORT_MASTER_KEY_FILE=master.key npx sallyport migrate',
  ],
  run: async ({ options }, io) => {
    if (options['print-roles']) {
      io.out(`${roleSql(loginOf(readConfig(io.variables).databaseUrl?.reveal() ?? ''))};`);
      return EXIT.done;
    }
    // It makes the CA: loaded here, so that the other commands start quicker.
    const { setUp } = await import('../set-up.ts');
    const config = withMasterKey(readConfig(io.variables));
    const owner = openDatabase(await requireDatabaseUrl(config), null, { max: 2, queryTimeoutMs: 0 });
    const { migrations, adminKey } = await setUp(owner, config).finally(() => owner.close());
    for (const name of migrations) io.out(`applied ${name}`);
    if (migrations.length === 0) io.out('the schema is up to date');
    if (adminKey) {
      io.err(
        'The first admin key follows. It cannot be read again: keep it now, where only operators can read it.',
      );
      io.out(adminKey.reveal());
    }
    return EXIT.done;
  },
});

/** The login of a database URL as SQL writes it, or a word to be replaced. */
function loginOf(url: string): string {
  // Checked already: a URL whose escapes are broken is no setting.
  const name = decodeURIComponent(URL.parse(url)?.username ?? '');
  if (name === '') return 'OWNER';
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
