/**
 * The secrets of a connection's target: which are bound to it now, and their values. One that is bound and cannot be
 * read is never silently left out.
 */
import { type Binding, bindingsOf } from '../core-lite/network/policy.ts';
import {
  isOpened,
  isUnusable,
  type OpenedSecret,
  type UnusableSecret,
} from '../core-lite/vault/secret-reader.ts';
import type { Connection } from './connection.ts';
import type { Gate } from './gate.ts';

/** Those bound to the target now. Rejects with Fault `database_unreachable`. */
export async function readBindings(gate: Gate, connection: Connection): Promise<Binding[]> {
  return (await readStanding(gate, connection)).bound;
}

/** What an exchange is judged by. Rejects with Fault `database_unreachable`. */
export async function readStanding(gate: Gate, { target, environmentId }: Connection) {
  const facts = await gate.facts.environment(environmentId);
  const bound = bindingsOf(facts?.bindings ?? [], target);
  return { bound, maxStreams: facts?.network.maxConnections ?? 0 };
}

/** All of them, or the one that is to blame. Rejects with Fault `database_unreachable` or `seal_broken`. */
export async function openSecrets(
  gate: Gate,
  bindings: readonly Binding[],
): Promise<readonly OpenedSecret[] | UnusableSecret> {
  const { opened, unusable } = await readAll(gate, bindings);
  return unusable ?? opened;
}

/**
 * Those that can be read, before any request says which it wants; the one to blame where none can.
 * Rejects with Fault `database_unreachable` or `seal_broken`.
 */
export async function openReadable(
  gate: Gate,
  bindings: readonly Binding[],
): Promise<readonly OpenedSecret[] | UnusableSecret> {
  const { opened, unusable } = await readAll(gate, bindings);
  return opened.length === 0 && unusable ? unusable : opened;
}

/** What a kept connection may be used again for: this environment, host and port, with these values of these secrets. */
export function scopeOf({ target, environmentId }: Connection, secrets: readonly OpenedSecret[]): string {
  const revisions = secrets.map(({ credentialId, revision }) => `${credentialId}@${revision}`);
  return [environmentId, `${target.host}:${target.port}`, ...revisions.sort()].join(' ');
}

async function readAll(gate: Gate, bindings: readonly Binding[]) {
  const read = await Promise.all(bindings.map(({ credentialId }) => gate.secrets.read(credentialId)));
  const unusable = read.find(isUnusable);
  if (unusable) {
    const { credentialId: credential, unusable: code } = unusable;
    gate.logger.warn({ credential, code }, 'a secret cannot be read');
  }
  return { opened: read.filter(isOpened), unusable };
}
