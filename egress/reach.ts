/**
 * To an origin: resolve, decide on the addresses, dial, and for an interception TLS. After each wait it is looked again
 * whether the connection may still go on. A tunnel and every exchange that needs a connection come this way.
 */
import type { Socket } from 'node:net';
import type { Allow } from '../core-lite/decision.ts';
import type { Address } from '../core-lite/network/address.ts';
import { decideAddresses } from '../core-lite/network/decide-address.ts';
import { ResolveFailure } from '../core-lite/network/resolve.ts';
import { formatTarget } from '../core-lite/network/target.ts';
import type { EndReason, RefusalReason } from '../core-lite/reasons.ts';
import { dial } from './act/dial.ts';
import type { Offer } from './act/secure-origin.ts';
import type { Connection, Stop } from './connection.ts';
import { decideInsideName } from './decide/inside-name.ts';
import type { Gate } from './gate.ts';
import { OriginSession } from './http2/origin-session.ts';
import { OriginConnection, type Place } from './origin-pool.ts';
import { ParentFailure } from './parent/failure.ts';
import { openReadable, readBindings, scopeOf } from './secrets.ts';

/** What was found on the way, for the record, however far it went. */
export interface Found {
  addresses: readonly Address[];
  address: Address | null;
}

/** A connection, and where it leads. */
interface Reached {
  readonly socket: Socket;
  readonly address: Place;
}

/** Why the origin was not reached. */
export interface Unreached {
  readonly refusal: RefusalReason;
  readonly ending?: EndReason;
  /** More exactly why: a code of the verifier of certificates, the parent proxy or the secret that cannot be read. */
  readonly code?: string;
}

/** A new connection to the target of the CONNECT. */
export async function reachOrigin(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  found: Found,
): Promise<Reached | Unreached> {
  const allowed = await allowedAddresses(gate, connection, found);
  return 'refusal' in allowed ? allowed : dialAllowed(gate, connection, proof, allowed, found);
}

/** What a parent proxy is asked for. */
export type Way = 'tunnel' | 'plain';

/** A secured way to an origin. */
export type SecuredOrigin = OriginConnection | OriginSession;

/**
 * A connection for one plain request: a kept one of this environment, host, port, address and way, or a new one.
 * @param way how a parent proxy that reads HTTP is passed: as a `plain` request of its own, or in a `tunnel`
 * @param fresh whether only a new one will do
 */
export async function reachPlain(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  found: Found,
  { way, fresh }: { readonly way: Way; readonly fresh: boolean },
): Promise<OriginConnection | Unreached> {
  const allowed = await allowedAddresses(gate, connection, found);
  if ('refusal' in allowed) return allowed;
  const scope = `${way} ${connection.environmentId} ${formatTarget(connection.target)}`;
  const kept = fresh ? null : gate.pool.take(scope, allowed);
  if (kept) return keep(kept, found);
  const dialled = await dialAllowed(gate, connection, proof, allowed, found, way);
  return 'refusal' in dialled ? dialled : new OriginConnection(dialled.socket, dialled.address, scope);
}

/**
 * The secured way that an interception begins with: what cannot be reached, or shows a bad certificate, is refused at
 * the CONNECT already, and which protocol the origin speaks is known before the client is asked.
 */
export async function reachForInterception(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  found: Found,
): Promise<SecuredOrigin | Unreached> {
  const secrets = await openReadable(gate, await readBindings(gate, connection));
  if ('unusable' in secrets)
    return connection.stopped ?? { refusal: 'injection_failed', code: secrets.unusable };
  if (secrets.length === 0) return connection.stopped ?? { refusal: 'injection_failed' };
  const scope = scopeOf(connection, secrets);
  const allowed = await allowedAddresses(gate, connection, found);
  if ('refusal' in allowed) return allowed;
  const kept = gate.sessions.take(scope, allowed) ?? gate.pool.take(scope, allowed);
  return kept ? keep(kept, found) : secureNew(gate, connection, proof, { scope, allowed, found }, EITHER);
}

/** An HTTP/1.1 connection: a kept one of this scope, or a new one. */
export async function reachConnection(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  scope: string,
  found: Found,
): Promise<OriginConnection | Unreached> {
  const allowed = await allowedAddresses(gate, connection, found);
  if ('refusal' in allowed) return allowed;
  const kept = gate.pool.take(scope, allowed);
  if (kept) return keep(kept, found);
  const made = await secureNew(gate, connection, proof, { scope, allowed, found }, ['http/1.1']);
  return made instanceof OriginSession ? { refusal: 'connect_failed' } : made;
}

/** An HTTP/2 session that can take a stream: a shared one of this scope, or a new one. */
export async function reachSession(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  scope: string,
  found: Found,
): Promise<OriginSession | Unreached> {
  const allowed = await allowedAddresses(gate, connection, found);
  if ('refusal' in allowed) return allowed;
  const kept = gate.sessions.take(scope, allowed);
  if (kept) return keep(kept, found);
  const made = await secureNew(gate, connection, proof, { scope, allowed, found }, ['h2']);
  if (!(made instanceof OriginConnection)) return made;
  // It spoke HTTP/2 before: what its clients speak now is not translated.
  made.socket.destroy();
  gate.sessions.note(scope, false);
  return { refusal: 'connect_failed' };
}

function keep<Kept extends SecuredOrigin>(kept: Kept, found: Found): Kept {
  found.address = kept.address;
  return kept;
}

interface Leading {
  readonly scope: string;
  readonly allowed: readonly Place[];
  readonly found: Found;
}

async function secureNew(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  { scope, allowed, found }: Leading,
  offer: Offer,
): Promise<SecuredOrigin | Unreached> {
  const dialled = await dialAllowed(gate, connection, proof, allowed, found);
  if ('refusal' in dialled) return dialled;
  const { host } = connection.target;
  const secured = await gate.originTls.secure(dialled.socket, host, offer, scope, connection.signal);
  if ('refusal' in secured) {
    dialled.socket.destroy();
    return connection.stopped ?? secured;
  }
  const http2 = secured.alpnProtocol === 'h2';
  if (offer === EITHER) gate.sessions.note(scope, http2);
  if (!http2) return new OriginConnection(secured, dialled.address, scope);
  const session = new OriginSession(secured, host, dialled.address, scope);
  gate.sessions.add(session);
  return session;
}

async function allowedAddresses(
  gate: Gate,
  connection: Connection,
  found: Found,
): Promise<readonly Place[] | Unreached> {
  const early = await recheck(gate, connection);
  if (early) return early;
  const { target } = connection;
  // The parent looks the name up, so only what the name itself says can be judged.
  if (gate.parent) {
    const denied = decideInsideName(target);
    return denied ? { refusal: denied.reason } : [null];
  }
  const addresses = await resolve(gate, connection);
  if (!addresses) return connection.stopped ?? { refusal: 'resolve_failed' };
  found.addresses = addresses;
  const { openNetworks, nat64Prefixes } = gate;
  const { allowed } = decideAddresses({ target, addresses, openNetworks, nat64Prefixes });
  return allowed.length > 0 ? allowed : { refusal: 'address_refused' };
}

async function dialAllowed(
  gate: Gate,
  connection: Connection,
  proof: Allow,
  allowed: readonly Place[],
  found: Found,
  way: Way = 'tunnel',
): Promise<Reached | Unreached> {
  const { parent } = gate;
  const reached = await (parent
    ? throughParent(parent[way](proof, connection.target, connection.signal))
    : dialDirect(connection, proof, allowed));
  if ('refusal' in reached) return connection.stopped ?? reached;
  found.address = reached.address;
  const late = await recheck(gate, connection);
  if (!late) return reached;
  reached.socket.destroy();
  return late;
}

async function dialDirect(
  { target, signal }: Connection,
  proof: Allow,
  allowed: readonly Place[],
): Promise<Reached | Unreached> {
  const addresses = allowed.filter((place) => place !== null);
  return (await dial(proof, addresses, target.port, signal)) ?? { refusal: 'connect_failed' };
}

async function throughParent(opening: Promise<Socket | ParentFailure>): Promise<Reached | Unreached> {
  const socket = await opening;
  return socket instanceof ParentFailure ? socket : { socket, address: null };
}

async function resolve(gate: Gate, connection: Connection): Promise<readonly Address[] | null> {
  try {
    return await gate.resolver.resolve(connection.target.host, connection.signal);
  } catch (error) {
    if (connection.signal.aborted || error instanceof ResolveFailure) return null;
    throw error;
  }
}

function recheck(gate: Gate, connection: Connection): Promise<Stop | null> {
  return gate.registry.recheck(connection).catch((): Stop => UNREADABLE);
}

const EITHER: Offer = ['h2', 'http/1.1'];
const UNREADABLE: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
