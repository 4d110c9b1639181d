/**
 * The way of a CONNECT, the only file that knows all its stages: authenticate, facts, decide, record, resolve, decide
 * on addresses, dial, tunnel, record. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Allow } from '../core-lite/decision.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { decideStaleness } from '../core-lite/state/environment.ts';
import { decideTurnStaleness } from '../core-lite/state/session.ts';
import { tunnel } from './act/tunnel.ts';
import type { EgressToken } from './authenticate.ts';
import { Connection, type Stop } from './connection.ts';
import { decideConnect, decideMode } from './decide/connect.ts';
import type { Arrival, Gate } from './gate.ts';
import { type InterceptionEnd, serveExchanges } from './handle-exchange.ts';
import { serveStreams } from './handle-stream.ts';
import { OriginSession } from './http2/origin-session.ts';
import { OriginConnection } from './origin-pool.ts';
import {
  type Found,
  reachForInterception,
  reachOrigin,
  type SecuredOrigin,
  type Unreached,
} from './reach.ts';

/** How the way ended before a tunnel was open. */
export interface Refused {
  readonly reason: RefusalReason;
  /** The row that says so; `null` where it was only counted. */
  readonly connectionId: string | null;
  /** A code that says more: of the verifier of certificates. */
  readonly code?: string;
}

/** Serves one CONNECT. Resolves when its tunnel has ended, or to why there was none; never rejects. */
export async function handleConnect(gate: Gate, arrival: Arrival): Promise<Refused | null> {
  const token = await authenticate(gate, arrival);
  if (typeof token === 'string') {
    gate.record.count(arrival.source, null, token);
    return { reason: token, connectionId: null };
  }
  const connection = new Connection(token, arrival.target, arrival.source, gate.now());
  gate.registry.add(connection);
  try {
    return await serve(gate, arrival, connection);
  } catch (error) {
    // A fault never lets anything through, and never ends the process.
    gate.logger.error({ id: connection.id, err: error }, 'connection failed');
    return { reason: 'facts_unavailable', connectionId: null };
  } finally {
    gate.registry.remove(connection);
  }
}

async function authenticate(gate: Gate, arrival: Arrival): Promise<EgressToken | RefusalReason> {
  const keys = await gate.facts.keys().catch(() => null);
  if (!keys) return 'facts_unavailable';
  return gate.authenticator.authenticate(arrival.credential, keys, gate.now());
}

async function serve(gate: Gate, arrival: Arrival, connection: Connection): Promise<Refused | null> {
  const decision = await decide(gate, connection);
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
  return act(gate, arrival, connection, decision);
}

/** The first decision, or why it could not be made or is not worth a row. */
async function decide(gate: Gate, connection: Connection) {
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
  const decision = decideConnect({ target: connection.target, network, bindings, open, recent });
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

/** From the committed row on: every way out of here closes it. */
async function act(
  gate: Gate,
  arrival: Arrival,
  connection: Connection,
  proof: Allow,
): Promise<Refused | null> {
  const found: Found = { addresses: [], address: null };
  const leave = () => connection.stop(CLIENT_LEFT);
  if (arrival.socket.destroyed) leave();
  arrival.socket.once('close', leave);
  const reach = connection.mode === 'interception' ? reachForInterception : reachOrigin;
  const reached = await reach(gate, connection, proof, found).catch((error: unknown) => {
    gate.logger.error({ id: connection.id, err: error }, 'connection failed');
    return UNREADABLE;
  });
  // From here on the tunnel sees by itself how the client leaves.
  arrival.socket.removeListener('close', leave);
  if ('refusal' in reached) return endUnreached(gate, connection, proof, found, reached);
  gate.metrics.setup.observe((gate.now().getTime() - connection.openedAt.getTime()) / 1000);
  arrival.socket.write(ESTABLISHED);
  const end =
    reached instanceof OriginConnection || reached instanceof OriginSession
      ? await intercept(gate, arrival, connection, reached, found)
      : await passThrough(gate, arrival, connection, reached.socket);
  gate.record.end(connection, { verdict: proof.verdict, ...found, ...end });
  return null;
}

function endUnreached(
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
  gate.record.end(connection, { verdict, reason, ...found, exchanges: 0, bytesUp: 0, bytesDown: 0 });
  return { reason: refusal, connectionId: connection.id, ...(code ? { code } : {}) };
}

async function passThrough(gate: Gate, arrival: Arrival, connection: Connection, origin: Socket) {
  const end = await tunnel({
    client: arrival.socket,
    head: arrival.head,
    origin,
    idleMs: gate.tunnelIdleMs,
    signal: connection.signal,
    stopReason: () => connection.stopped?.ending ?? 'client_closed',
  });
  return { ...end, exchanges: 0 };
}

/** The protocol is the client's choice, within what the origin speaks: what it does not want is left to the next. */
async function intercept(
  gate: Gate,
  arrival: Arrival,
  connection: Connection,
  origin: SecuredOrigin,
  found: Found,
): Promise<InterceptionEnd> {
  const secured = await endClientTls(gate, arrival, connection, origin);
  const held = origin instanceof OriginConnection ? origin : null;
  if (secured && secured.alpnProtocol !== 'h2') {
    return serveExchanges(gate, connection, secured, held, found);
  }
  if (held) gate.pool.give(held);
  if (secured) return serveStreams(gate, connection, secured, origin, found);
  arrival.socket.destroy();
  const reason = connection.stopped?.ending ?? 'client_tls';
  return { reason, exchanges: 0, bytesUp: 0, bytesDown: 0 };
}

async function endClientTls(
  gate: Gate,
  { socket, head }: Arrival,
  connection: Connection,
  origin: SecuredOrigin,
): Promise<TLSSocket | null> {
  const { signal, target } = connection;
  const onAbort = () => socket.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const http2 = origin instanceof OriginSession || gate.sessions.speaksHttp2(origin.scope);
  try {
    return await gate.interceptor.accept(socket, head, { host: target.host, http2 });
  } catch (error) {
    gate.logger.error({ id: connection.id, err: error }, 'no leaf could be made');
    return null;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';
const CLIENT_LEFT: Stop = { refusal: 'request_malformed', ending: 'client_closed' };
const UNREADABLE: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
