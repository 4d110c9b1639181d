/**
 * An exchange under way with secrets. It is noted, so that a change which takes one of them away, or limits it to other
 * requests, ends it; and it is judged once more when its way to the origin is open, so that what leaves is what is true then, however long that took.
 */
import type { Connection } from './connection.ts';
import type { Gate } from './gate.ts';
import type { ExchangeRefusal, Granted } from './grant.ts';
import { openSecrets, readStanding, scopeOf } from './secrets.ts';

/** What a request goes out under. */
export interface Carried {
  readonly granted: Granted;
  /** To be asked right before any byte leaves. Never rejects. */
  readonly stands: () => Promise<boolean>;
}

/** Something that is done under a grant. */
interface Carrying<Result> {
  readonly granted: Granted;
  /** The same request, judged anew. */
  readonly grant: () => Promise<Granted | ExchangeRefusal>;
  /** @returns `changed` where the grant did not stand, and nothing left */
  readonly work: (carried: Carried) => Promise<Result | 'changed'>;
}

/** @returns what was done, or why nothing was: what has changed meanwhile is put on anew, or refused */
export async function carrying<Result>(
  gate: Gate,
  connection: Connection,
  { granted: first, grant, work }: Carrying<Result>,
): Promise<Result | ExchangeRefusal> {
  let granted: Granted | ExchangeRefusal = first;
  for (let attempt = 1; attempt <= MAX_GRANTS; attempt++) {
    if ('refusal' in granted) return granted;
    const now = granted;
    const letGo = connection.carry({
      request: now.request,
      credentialIds: now.secrets.map(({ credentialId }) => credentialId),
    });
    const done = await work({ granted: now, stands: () => stillStands(gate, connection, now) }).finally(
      letGo,
    );
    if (done !== 'changed') return done;
    granted = await grant();
  }
  return 'refusal' in granted ? granted : EVER_CHANGING;
}

/** Whether all that it was granted by is as it was. What cannot be told does not stand. */
async function stillStands(gate: Gate, connection: Connection, granted: Granted): Promise<boolean> {
  try {
    const { bound } = await readStanding(gate, connection);
    const secrets = await openSecrets(gate, granted.chosen);
    const same = 'unusable' in secrets ? false : scopeOf(connection, secrets) === granted.scope;
    return connection.stopped === null && same && versionsOf(bound) === versionsOf(granted.bound);
  } catch {
    return false;
  }
}

/** A credential's version changes with its hosts, its rules and its placement too. */
function versionsOf(bound: Granted['bound']): string {
  return bound.map(({ credentialId, version }) => `${credentialId}@${version}`).join(' ');
}

const EVER_CHANGING: ExchangeRefusal = { refusal: 'injection_failed', code: 'SECRET_CHANGED' };
/** Changes are rare: one that comes with each dial is none that waiting for mends. */
const MAX_GRANTS = 4;
