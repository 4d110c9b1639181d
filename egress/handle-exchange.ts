/**
 * The way of an exchange inside an interception: read, facts, decide, secret, origin, relay, record. The file that knows
 * all its stages, as `handle-connect.ts` does for the CONNECT that it came in by.
 */
import type { TLSSocket } from 'node:tls';
import { Allow } from '../core-lite/decision.ts';
import { makeId } from '../core-lite/id.ts';
import { formatTarget, type Target } from '../core-lite/network/target.ts';
import type { EndReason, Reason, RefusalReason } from '../core-lite/reasons.ts';
import type { OpenedSecret } from '../core-lite/vault/secret-reader.ts';
import { mayTrail, placeSecrets } from './act/inject.ts';
import { refuse } from './act/refuse.ts';
import { type ExchangeOutcome, relay, type Side } from './act/relay.ts';
import type { Connection } from './connection.ts';
import { decideExchange } from './decide/exchange.ts';
import type { Gate } from './gate.ts';
import { ByteReader } from './http1/byte-reader.ts';
import { dropConnectionHeaders } from './http1/connection-headers.ts';
import { type Framing, requestFraming } from './http1/framing.ts';
import { type HeaderLine, parseRequestHead, type RequestHead } from './http1/head.ts';
import { makeLine, writeRequestHead } from './http1/write-head.ts';
import type { OriginConnection } from './origin-pool.ts';
import { type Found, reachSecured, readSecrets, scopeOf } from './reach.ts';

/** What an interception came to. */
export interface InterceptionEnd {
  readonly reason: EndReason;
  readonly exchanges: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

/** Serves the requests of one client connection, one after the other. Never rejects. */
export async function serveExchanges(
  gate: Gate,
  connection: Connection,
  secured: TLSSocket,
  origin: OriginConnection,
  found: Found,
): Promise<InterceptionEnd> {
  const interception = new Interception(gate, connection, secured, origin, found);
  return interception.serve();
}

/** What is on its way, with what the record wants to know of it. */
interface Asked {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly at: Date;
}

/** What the record says of one, also of one that could not be read. */
interface Noted {
  readonly head: Pick<RequestHead, 'method' | 'target'>;
  readonly at: Date;
}

/** A request that was let through, and with which secrets. */
interface Granted {
  readonly proof: Allow;
  readonly secrets: readonly OpenedSecret[];
  readonly scope: string;
  readonly originHead: Buffer;
}

type Refusal = { readonly refusal: RefusalReason; readonly code?: string };

class Interception {
  readonly #gate: Gate;
  readonly #connection: Connection;
  readonly #client: Side & { readonly socket: TLSSocket };
  readonly #found: Found;
  /** The connection that the CONNECT was answered on, until the first request takes it. */
  #origin: OriginConnection | null;
  #exchanges = 0;
  #bytesUp = 0;
  #bytesDown = 0;

  constructor(
    gate: Gate,
    connection: Connection,
    secured: TLSSocket,
    origin: OriginConnection,
    found: Found,
  ) {
    this.#gate = gate;
    this.#connection = connection;
    this.#client = { socket: secured, reader: new ByteReader(secured) };
    this.#origin = origin;
    this.#found = found;
  }

  async serve(): Promise<InterceptionEnd> {
    const { socket } = this.#client;
    let idle = false;
    const onAbort = () => socket.destroy();
    socket.setTimeout(this.#gate.tunnelIdleMs, () => {
      idle = true;
      socket.destroy();
    });
    this.#connection.signal.addEventListener('abort', onAbort, { once: true });
    if (this.#connection.signal.aborted) onAbort();
    let reason: EndReason = 'client_closed';
    try {
      reason = await this.#serveAll();
    } catch (error) {
      this.#gate.logger.error({ id: this.#connection.id, err: error }, 'interception failed');
      socket.destroy();
    } finally {
      this.#connection.signal.removeEventListener('abort', onAbort);
      if (this.#origin) this.#gate.pool.give(this.#origin);
      if (!socket.destroyed) socket.end(() => socket.destroySoon());
    }
    const ended = this.#connection.stopped?.ending ?? (idle ? 'idle' : reason);
    return { reason: ended, exchanges: this.#exchanges, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  async #serveAll(): Promise<EndReason> {
    for (;;) {
      const bytes = await this.#client.reader.head(MAX_HEAD_BYTES);
      if (bytes === 'end') return 'client_closed';
      if (bytes === 'broken') return 'client_reset';
      const at = this.#gate.now();
      const head = bytes === 'too_large' ? null : parseRequestHead(bytes);
      const framing = head && requestFraming(head);
      if (!head || !framing) {
        this.#exchanges += 1;
        this.#refuse({ refusal: 'request_malformed' }, { head: head ?? UNREAD, at });
        return 'client_closed';
      }
      if (!(await this.#serveOne({ head, framing, at }))) return 'client_closed';
    }
  }

  /** @returns whether the client may ask again */
  async #serveOne(asked: Asked): Promise<boolean> {
    this.#exchanges += 1;
    const granted = await this.#grant(asked.head);
    if ('refusal' in granted) return this.#refuse(granted, asked);
    for (;;) {
      const origin = await this.#reach(granted);
      if ('refusal' in origin) return this.#refuse(origin, asked, granted.secrets);
      const reused = origin.used;
      const outcome = await this.#relay(asked, granted, origin);
      // A kept connection may have died just then. Only what surely has no effect is asked again, over a new one.
      const again =
        outcome.kind === 'unanswered' && reused && isHarmless(asked) && !this.#client.socket.destroyed;
      if (!again) return this.#conclude(asked, granted, origin, outcome, reused);
      origin.socket.destroy();
      this.#gate.pool.drop(granted.scope);
    }
  }

  /** Facts, secrets and the decision: all read now, for this request. */
  async #grant(head: RequestHead): Promise<Granted | Refusal> {
    const { target } = this.#connection;
    const secrets = await readSecrets(this.#gate, this.#connection).catch(() => null);
    if (!secrets) return { refusal: 'facts_unavailable' };
    const decision = decideExchange({ target, head, bound: secrets.length });
    if (!(decision instanceof Allow)) return { refusal: decision.reason as RefusalReason };
    const placed = placeSecrets(decision, { ...head, headers: originHeaders(head, target) }, secrets);
    if (!placed) return { refusal: 'injection_failed' };
    return {
      proof: decision,
      secrets,
      scope: scopeOf(this.#connection, secrets),
      originHead: writeRequestHead({ ...placed, minor: head.minor }),
    };
  }

  async #reach(granted: Granted): Promise<OriginConnection | Refusal> {
    const held = this.#origin;
    this.#origin = null;
    if (held?.fit && held.scope === granted.scope) return held;
    held?.socket.destroy();
    return reachSecured(this.#gate, this.#connection, granted.proof, granted.scope, this.#found);
  }

  #relay(asked: Asked, granted: Granted, origin: OriginConnection): Promise<ExchangeOutcome> {
    const { head, framing } = asked;
    const keepTrailer = (line: HeaderLine) => mayTrail(line, granted.secrets);
    origin.used = true;
    const input = { head, framing, originHead: granted.originHead, keepTrailer };
    return relay(granted.proof, input, this.#client, origin);
  }

  #conclude(
    asked: Asked,
    granted: Granted,
    origin: OriginConnection,
    outcome: ExchangeOutcome,
    reused: boolean,
  ): boolean {
    this.#bytesUp += outcome.bytesUp;
    if (outcome.kind === 'answered') {
      this.#bytesDown += outcome.bytesDown;
      // Back to the others: a client that is silent now holds no connection of the origin's.
      if (outcome.keepOrigin) this.#gate.pool.give(origin);
      else origin.socket.destroy();
      const reason = outcome.complete ? 'injected' : 'origin_failed';
      this.#record(asked, reason, outcome.status, granted.secrets, outcome);
      return outcome.keepClient;
    }
    origin.socket.destroy();
    if (outcome.kind === 'malformed')
      return this.#refuse({ refusal: 'request_malformed' }, asked, granted.secrets, outcome.bytesUp);
    if (outcome.kind === 'invalid' || !reused) {
      return this.#refuse({ refusal: 'origin_failed' }, asked, granted.secrets, outcome.bytesUp);
    }
    // What a direct connection would have shown: clients know to ask again on a new one, and only they know if they may.
    this.#client.socket.destroy();
    this.#record(asked, 'origin_failed', null, granted.secrets, { bytesUp: outcome.bytesUp, bytesDown: 0 });
    return false;
  }

  /** Answers with the reason and closes. @param bytesUp what the origin got all the same */
  #refuse(refusal: Refusal, asked: Noted, secrets: readonly OpenedSecret[] = [], bytesUp = 0): boolean {
    const { refusal: reason, code } = refusal;
    refuse(this.#client.socket, {
      reason,
      connectionId: this.#connection.id,
      keepAlive: false,
      ...(code ? { code } : {}),
    });
    this.#record(asked, reason, null, secrets, { bytesUp, bytesDown: 0 });
    return false;
  }

  #record(
    asked: Noted,
    reason: Reason,
    status: number | null,
    secrets: readonly OpenedSecret[],
    bytes: { readonly bytesUp: number; readonly bytesDown: number },
  ): void {
    this.#gate.record.exchange({
      id: makeId('exc'),
      connectionId: this.#connection.id,
      at: asked.at,
      method: asked.head.method,
      path: recordedPath(asked.head.target),
      status,
      reason,
      credentials: secrets.map(({ credentialId, version }) => `${credentialId}@${version}`),
      bytesUp: bytes.bytesUp,
      bytesDown: bytes.bytesDown,
      durationMs: this.#gate.now().getTime() - asked.at.getTime(),
    });
  }
}

/** What goes on to the origin. An HTTP/1.0 client may have sent no Host. */
function originHeaders({ headers }: RequestHead, target: Target): readonly HeaderLine[] {
  const kept = dropConnectionHeaders(headers);
  if (kept.some(({ name }) => name === 'host')) return kept;
  return [makeLine('Host', target.port === 443 ? target.host : formatTarget(target)), ...kept];
}

/** Without its query, and nothing of a target that is no path: a URL may have a password in it. */
function recordedPath(target: string): string {
  if (!target.startsWith('/') && target !== '*') return '';
  return (target.split(/[?#]/, 1)[0] ?? '').slice(0, MAX_PATH_CHARS);
}

function isHarmless({ head, framing }: Asked): boolean {
  return framing.kind === 'none' && (head.method === 'GET' || head.method === 'HEAD');
}

/** A head that cannot be read names nothing. */
const UNREAD = { method: '', target: '' };
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_PATH_CHARS = 1024;
