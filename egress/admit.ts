/**
 * What a CONNECT and a plain request have in common, up to the committed row: authenticate, register, facts, decide,
 * record. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import { Allow, type Decision } from '../core-lite/decision.ts';
import type { Target } from '../core-lite/network/target.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { decideStaleness } from '../core-lite/state/environment.ts';
import { decideTurnStaleness } from '../core-lite/state/session.ts';
import type { EgressToken } from './authenticate.ts';
import { Connection, type Stop } from './connection.ts';
import { type ConnectFacts, decideMode } from './decide/connect.ts';
import type { Gate } from './gate.ts';
import type { Found, Unreached } from './reach.ts';

/** What was asked, whatever form it came in. */
export interface Asking {
  readonly target: Target;
  /** The one `Proxy-Authorization`, if there is one. */
  readonly credential: string | undefined;
  readonly source: string;
}

/** Why it was refused. */
export interface Refused {
  readonly reason: RefusalReason;
  /** The row that says so; `null` where it was only counted. */
  readonly connectionId: string | null;
  /** A code that says more: of the verifier of certificates. */
  readonly code?: string;
}

/** The rules and the act of one form. */
export interface Form<End> {
  readonly decide: (facts: ConnectFacts) => Decision;
  /** From the committed row on: every way out of it closes the row. */
  readonly act: (connection: Connection, proof: Allow) => Promise<Refused | End>;
}

/** Resolves to what `act` came to, or to why there was none; never rejects. */
export function admit<End>(gate: Gate, asking: Asking, form: Form<End>): Promise<Refused | End> {
  // Not awaited here: who waits keeps what it was given, and a credential is not to live as long as its tunnel.
  return begin(gate, asking).then((begun) => (begun instanceof Connection ? run(gate, begun, form) : begun));
}

/** The connection that the credential is good for, registered. */
async function begin(gate: Gate, asking: Asking): Promise<Connection | Refused> {
  const token = await authenticate(gate, asking.credential);
  if (typeof token === 'string') {
    gate.record.count(asking.source, null, token);
    return { reason: token, connectionId: null };
  }
  const connection = new Connection(token, asking.target, asking.source, gate.now());
  gate.registry.add(connection);
  return connection;
}

async function run<End>(gate: Gate, connection: Connection, form: Form<End>): Promise<Refused | End> {
  try {
    return await serve(gate, connection, form);
  } catch (error) {
    // A fault never lets anything through, and never ends the process.
    gate.logger.error({ id: connection.id, err: error }, 'connection failed');
    return { reason: 'facts_unavailable', connectionId: null };
  } finally {
    gate.registry.remove(connection);
  }
}

/** Closes the row of what never reached its origin. @returns what its client is told */
export function endUnreached(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  found: Found,
  { refusal, code }: Unreached,
): Refused {
  // Whoever left was not refused. Whoever is refused finds the very word of the answer in the record.
  const left = connection.stopped === CLIENT_LEFT;
  const verdict = left ? proof.verdict : 'denied';
  const reason = left ? CLIENT_LEFT.ending : refusal;
  gate.record.end(connection, { verdict, reason, code, ...found, exchanges: 0, bytesUp: 0, bytesDown: 0 });
  return { reason: refusal, connectionId: connection.id, ...(code ? { code } : {}) };
}

async function authenticate(
  gate: Gate,
  credential: string | undefined,
): Promise<EgressToken | RefusalReason> {
  const verify = async () => {
    const keys = await gate.facts.keys().catch(() => null);
    return keys ? gate.authenticator.authenticate(credential, keys, gate.now()) : 'facts_unavailable';
  };
  const token = await verify();
  return token === 'token_untrusted' && gate.facts.doubtKeys() ? verify() : token;
}

async function serve<End>(gate: Gate, connection: Connection, form: Form<End>): Promise<Refused | End> {
  const decision = await decide(gate, connection, form);
  if (typeof decision === 'string') {
    gate.record.count(connection.source, connection.environmentId, decision);
    return { reason: decision, connectionId: null };
  }
  try {
    await gate.record.open(connection, decision.verdict, decision.reason);
  } catch {
    gate.record.count(connection.source, connection.environmentId, 'record_unavailable');
    // A row whose answer was lost may stand after all: then it must not look open for ever.
    gate.record.unopened(connection);
    return { reason: 'record_unavailable', connectionId: null };
  }
  if (!(decision instanceof Allow)) return { reason: decision.reason, connectionId: connection.id };
  try {
    return await form.act(connection, decision);
  } catch (error) {
    gate.logger.error({ id: connection.id, err: error }, 'connection failed');
    const nothing = { addresses: [], address: null, exchanges: 0, bytesUp: 0, bytesDown: 0 };
    gate.record.end(connection, { verdict: 'denied', reason: 'facts_unavailable', ...nothing });
    return { reason: 'facts_unavailable', connectionId: connection.id };
  }
}

/** The first decision, or why it could not be made or is not worth a row. */
async function decide<End>(gate: Gate, connection: Connection, form: Form<End>) {
  const decision = await decideBy(gate, connection, form);
  const { sub, ses } = connection.token.claims;
  // Its token may be newer than what is known here.
  const again = STALE.has(decision) && gate.facts.doubt(sub, ses);
  return again ? decideBy(gate, connection, form) : decision;
}

async function decideBy<End>(gate: Gate, connection: Connection, form: Form<End>) {
  const keys = await gate.facts.keys().catch(() => undefined);
  const facts = await gate.facts.environment(connection.environmentId).catch(() => undefined);
  if (keys === undefined || facts === undefined) return 'facts_unavailable';
  // The key again: had it been revoked while the token was verified, nobody would have told this connection.
  if (!keys.byKid.has(connection.token.kid)) return 'token_untrusted';
  const stale = decideStaleness(connection.token, facts);
  if (stale || !facts) return stale ?? 'environment_gone';
  const turn = await decideTurn(gate, connection);
  if (turn) return turn;
  const { open, recent } = gate.registry.countIn(connection);
  const { network, bindings } = facts;
  connection.mode = decideMode({ target: connection.target, network, bindings });
  const decision = form.decide({ target: connection.target, network, bindings, open, recent });
  // Past a limit a row each would be the flood that the limit is there to stop.
  const flood = decision.reason === 'connection_limit' || decision.reason === 'rate_limited';
  return flood ? decision.reason : decision;
}

/** A token that was minted for a run is worth what its turn is. */
async function decideTurn(gate: Gate, connection: Connection): Promise<RefusalReason | null> {
  const { claims } = connection.token;
  const facts = claims.ses ? await gate.facts.turn(claims.ses).catch(() => undefined) : null;
  return facts === undefined ? 'facts_unavailable' : decideTurnStaleness(claims, facts);
}

export const CLIENT_LEFT: Stop = { refusal: 'request_malformed', ending: 'client_closed' };
const STALE: ReadonlySet<unknown> = new Set<RefusalReason>([
  'host_superseded',
  'run_stale',
  'environment_gone',
]);
