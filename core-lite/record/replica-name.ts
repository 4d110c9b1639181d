/**
 * Who a process is to the database: a name, and the key that proves it. The database keeps the key's hash alone, so
 * that whoever reads there, or knows the name, can settle nothing of this replica. The key is in no log and no row.
 */
import { randomBytes } from 'node:crypto';
import { makeId } from '../id.ts';
import { Secret } from '../secret.ts';

export interface ReplicaName {
  readonly id: string;
  readonly key: Secret;
}

export function nameReplica(id: string = makeId('rep')): ReplicaName {
  return { id, key: new Secret(randomBytes(32).toString('base64url')) };
}

/** What the database's functions are told first. */
export function proveReplica({ id, key }: ReplicaName): readonly [id: string, key: string] {
  return [id, key.reveal()];
}
