/**
 * The way of a CONNECT: admitted (authenticate, facts, decide, record), then resolve, decide on addresses, dial, tunnel
 * or interception, record. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Allow } from '../core-lite/decision.ts';
import { tunnel } from './act/tunnel.ts';
import { admit, CLIENT_LEFT, endUnreached, type Refused } from './admit.ts';
import type { Connection, Stop } from './connection.ts';
import { decideConnect } from './decide/connect.ts';
import type { Arrival, Gate } from './gate.ts';
import type { InterceptionEnd } from './grant.ts';
import { serveExchanges } from './handle-exchange.ts';
import { serveStreams } from './handle-stream.ts';
import { OriginSession } from './http2/origin-session.ts';
import { OriginConnection } from './origin-pool.ts';
import { type Found, reachForInterception, reachOrigin, type SecuredOrigin } from './reach.ts';

/** Serves one CONNECT. Resolves when its tunnel has ended, or to why there was none; never rejects. */
export function handleConnect(gate: Gate, arrival: Arrival): Promise<Refused | null> {
  const { socket, head } = arrival;
  return admit(gate, arrival, {
    decide: decideConnect,
    act: (connection, proof) => act(gate, { socket, head }, connection, proof),
  });
}

/** What is left of an arrival once it is known who asks for what. */
type Opened = Pick<Arrival, 'socket' | 'head'>;

/** From the committed row on: every way out of here closes it. */
async function act(
  gate: Gate,
  arrival: Opened,
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

async function passThrough(gate: Gate, arrival: Opened, connection: Connection, origin: Socket) {
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
  arrival: Opened,
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
  { socket, head }: Opened,
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
const UNREADABLE: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
