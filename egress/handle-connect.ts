/**
 * The way of a CONNECT, the only file that knows all its stages: authenticate, facts, decide, record, resolve, decide
 * on addresses, dial, tunnel, record. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import type { Socket } from 'node:net';
import { Allow } from '../core-lite/decision.ts';
import type { Logger } from '../core-lite/log.ts';
import type { Address } from '../core-lite/network/address.ts';
import type { Nat64Prefix } from '../core-lite/network/nat64.ts';
import type { OpenNetwork } from '../core-lite/network/open-network.ts';
import type { Resolver } from '../core-lite/network/resolve.ts';
import { ResolveFailure } from '../core-lite/network/resolve.ts';
import type { Target } from '../core-lite/network/target.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { decideStaleness } from '../core-lite/state/environment.ts';
import { dial } from './act/dial.ts';
import { tunnel } from './act/tunnel.ts';
import type { Authenticator, EgressToken } from './authenticate.ts';
import { Connection, type Stop } from './connection.ts';
import { decideAddresses } from './decide/address.ts';
import { decideConnect } from './decide/connect.ts';
import type { Facts } from './facts.ts';
import type { Metrics } from './metrics.ts';
import type { Recorder } from './record.ts';
import type { Registry } from './registry.ts';

/** What the way works with. */
export interface Gate {
  readonly authenticator: Authenticator;
  readonly facts: Facts;
  readonly registry: Registry;
  readonly record: Recorder;
  readonly resolver: Resolver;
  readonly openNetworks: readonly OpenNetwork[];
  readonly nat64Prefixes: readonly Nat64Prefix[];
  readonly tunnelIdleMs: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** A CONNECT that was read: a well-formed target, and where its bytes are. */
export interface Arrival {
  readonly socket: Socket;
  /** What the client sent right behind its head. */
  readonly head: Buffer;
  readonly target: Target;
  readonly credential: string | undefined;
  readonly source: string;
}

/** How the way ended before a tunnel was open. */
export interface Refused {
  readonly reason: RefusalReason;
  /** The row that says so; `null` where it was only counted. */
  readonly connectionId: string | null;
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
  const { open, recent } = gate.registry.countIn(connection);
  const { network, bindings } = facts;
  const decision = decideConnect({ target: connection.target, network, bindings, open, recent });
  // Past a limit a row each would be the flood that the limit is there to stop.
  const flood = decision.reason === 'connection_limit' || decision.reason === 'rate_limited';
  return flood ? decision.reason : decision;
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
  const opened = await open(gate, connection, proof, found).catch((error: unknown) => {
    gate.logger.error({ id: connection.id, err: error }, 'connection failed');
    return UNREADABLE;
  });
  // From here on the tunnel sees by itself how the client leaves.
  arrival.socket.removeListener('close', leave);
  if ('refusal' in opened) {
    // Whoever left was not refused. Whoever is refused finds the very word of the answer in the record.
    const left = connection.stopped === CLIENT_LEFT;
    const verdict = left ? proof.verdict : 'denied';
    const reason = left ? CLIENT_LEFT.ending : opened.refusal;
    gate.record.end(connection, { verdict, reason, ...found, bytesUp: 0, bytesDown: 0 });
    return { reason: opened.refusal, connectionId: connection.id };
  }
  gate.metrics.setup.observe((gate.now().getTime() - connection.openedAt.getTime()) / 1000);
  arrival.socket.write(ESTABLISHED);
  const end = await tunnel({
    client: arrival.socket,
    head: arrival.head,
    origin: opened.origin,
    idleMs: gate.tunnelIdleMs,
    signal: connection.signal,
    stopReason: () => connection.stopped?.ending ?? 'client_closed',
  });
  gate.record.end(connection, { verdict: proof.verdict, ...found, ...end });
  return null;
}

interface Found {
  addresses: readonly Address[];
  address: Address | null;
}

type Opened = { readonly origin: Socket } | { readonly refusal: RefusalReason };

/** Resolves and dials. After each wait it looks again whether the connection may still go on. */
async function open(gate: Gate, connection: Connection, proof: Allow, found: Found): Promise<Opened> {
  const { target, signal } = connection;
  const early = await recheck(gate, connection);
  if (early) return early;
  const addresses = await resolve(gate, connection);
  if (!addresses) return connection.stopped ?? { refusal: 'resolve_failed' };
  found.addresses = addresses;
  const { openNetworks, nat64Prefixes } = gate;
  const { allowed } = decideAddresses({ target, addresses, openNetworks, nat64Prefixes });
  if (allowed.length === 0) return { refusal: 'address_refused' };
  const dialled = await dial(proof, allowed, target.port, signal);
  if (!dialled) return connection.stopped ?? { refusal: 'connect_failed' };
  found.address = dialled.address;
  const late = await recheck(gate, connection);
  if (!late) return { origin: dialled.socket };
  dialled.socket.destroy();
  return late;
}

async function resolve(gate: Gate, connection: Connection): Promise<readonly Address[] | null> {
  try {
    return await gate.resolver.resolve(connection.target.host, connection.signal);
  } catch (error) {
    if (connection.signal.aborted || error instanceof ResolveFailure) return null;
    throw error;
  }
}

async function recheck(gate: Gate, connection: Connection): Promise<Stop | null> {
  return gate.registry.recheck(connection).catch((): Stop => UNREADABLE);
}

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';
const CLIENT_LEFT: Stop = { refusal: 'request_malformed', ending: 'client_closed' };
const UNREADABLE: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
