/**
 * What the database sees when another pod takes an environment over: its host epoch moves on, and the trigger tells
 * every replica. Until pods can join there is no API for it, so this is done as the database's owner.
 */
import { openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';

/** Ends the authority of every token that `environmentId` has now. */
export async function supersedePod(databaseUrl: string, environmentId: string): Promise<void> {
  const owner = openDatabase(new Secret(databaseUrl), null, { max: 1 });
  try {
    await owner.query('UPDATE environments SET host_epoch = host_epoch + 1 WHERE id = $1', [environmentId]);
  } finally {
    await owner.close();
  }
}
