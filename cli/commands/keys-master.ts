/**
 * `keys rotate-master|export-class`: the keys that seal. They work on the database directly, because the master key
 * goes over no wire; both leave an admin event, as every change does.
 */
import { readConfig } from '../../core-lite/config.ts';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { nearest } from '../../core-lite/spelling.ts';
import { changeAsAdmin } from '../../core-lite/state/admin.ts';
import {
  exportClassKey,
  KEY_CLASSES,
  type KeyClass,
  openClassKey,
  rewrapClassKeys,
} from '../../core-lite/vault/class-keys.ts';
import { loadMasterKeys } from '../../core-lite/vault/master-key.ts';
import { defineCommand, type Io, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { requireDatabaseUrl, withMasterKey } from '../home.ts';

export const keysRotateMaster = defineCommand({
  name: 'keys rotate-master',
  summary: 'wraps the class keys with a new master key; no secret is sealed anew',
  args: [],
  options: {},
  notes: [
    'Needs DATABASE_URL, the new key in SALLYPORT_MASTER_KEY(_FILE) and the one before in SALLYPORT_MASTER_KEY_PREVIOUS(_FILE). A new key: openssl rand -base64 32 > new.key. Services that run go on; start them with the new key from then on, and throw the old one away.',
  ],
  examples: [
    'SALLYPORT_MASTER_KEY_FILE=new.key SALLYPORT_MASTER_KEY_PREVIOUS_FILE=old.key npx sallyport keys rotate-master',
  ],
  run: async (_, io) => {
    const keys = await loadMasterKeys(withMasterKey(readConfig(io.variables)));
    const wrapped = await withCoreDatabase(io, (database) =>
      changeAsAdmin(database, ACTOR, async (tx) => {
        const result = await rewrapClassKeys(tx, keys);
        const detail = { wrapped: result, masterKeyId: keys.current?.id };
        return { result, event: { action: 'master_key.rotate', subject: 'class_keys', detail } };
      }),
    );
    io.out(
      wrapped > 0
        ? `${wrapped} class keys are wrapped with the new master key`
        : 'the class keys are wrapped with this master key already',
    );
    return EXIT.done;
  },
});

export const keysExportClass = defineCommand({
  name: 'keys export-class',
  summary: 'prints one class key, for a service that shall not have the master key',
  args: ['CLASS'],
  options: {},
  notes: [
    `CLASS is ${KEY_CLASSES.join(', ')}: egress needs its own only, gates too. What is printed opens every secret of its class: write it to a file that only the service can read, and name that in SALLYPORT_CLASS_KEY_FILE. Needs DATABASE_URL and the master key.`,
  ],
  examples: ['(umask 077; npx sallyport keys export-class egress > egress.key)'],
  run: async ({ args: [name] }, io) => {
    const keyClass = parseClass(name);
    // A class key file of this process would be read instead of the database.
    const config = { ...withMasterKey(readConfig(io.variables)), classKeyFile: undefined };
    const key = await withCoreDatabase(io, (database) =>
      changeAsAdmin(database, ACTOR, async (tx) => ({
        result: await openClassKey(tx, config, keyClass),
        event: { action: 'class_key.export', subject: keyClass, detail: {} },
      })),
    );
    io.out(exportClassKey(keyClass, key).reveal());
    return EXIT.done;
  },
});

function parseClass(name: string): KeyClass {
  const found = KEY_CLASSES.find((each) => each === name);
  if (found) return found;
  const close = nearest(name, KEY_CLASSES);
  const offer = close ? `, did you mean ${close}?` : '';
  throw wrong(keysExportClass, `a class is one of ${KEY_CLASSES.join(', ')}${offer}`);
}

async function withCoreDatabase<T>(io: Io, work: (database: Database) => Promise<T>): Promise<T> {
  const url = await requireDatabaseUrl(readConfig(io.variables));
  const database = openDatabase(url, 'sallyport_core', { max: 1 });
  return await work(database).finally(() => database.close());
}

/** Whoever can log in to the database and has the master key. */
const ACTOR = { id: 'command-line' };
