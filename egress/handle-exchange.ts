/**
 * The way of an exchange inside an interception: read, facts, decide, secret, origin, relay, record. The file that knows
 * all its stages, as `handle-connect.ts` does for the CONNECT that it came in by.
 */
import type { TLSSocket } from 'node:tls';
import type { EndReason, Reason } from '../core-lite/reasons.ts';
import type { OpenedSecret } from '../core-lite/vault/secret-reader.ts';
import type { ExchangeOutcome, Side } from './act/exchange.ts';
import { mayTrail } from './act/inject.ts';
import { linger } from './act/linger.ts';
import { refuse } from './act/refuse.ts';
import { relay } from './act/relay.ts';
import { type Carried, carrying } from './carry.ts';
import type { Connection } from './connection.ts';
import type { Gate } from './gate.ts';
import {
  type ExchangeRefusal,
  type Granted,
  grantExchange,
  type InterceptionEnd,
  type Passed,
  reasonOfAnswer,
  recordExchange,
  refusalOfCut,
  scrubberOf,
  UNSENT,
} from './grant.ts';
import { ByteReader, HEAD_LIMIT_MS, MAX_HEAD_BYTES } from './http1/byte-reader.ts';
import { type Framing, requestFraming } from './http1/framing.ts';
import { type HeaderLine, parseRequestHead, type RequestHead } from './http1/head.ts';
import { originHeaders } from './http1/origin-headers.ts';
import { asksWebSocket } from './http1/upgrade.ts';
import { writeRequestHead } from './http1/write-head.ts';
import type { OriginConnection } from './origin-pool.ts';
import { type Found, reachConnection } from './reach.ts';
import { Renewal } from './renewal.ts';

/**
 * Serves the requests of one client connection, one after the other. Never rejects.
 * @param origin a connection for the first one
 */
export async function serveExchanges(
  gate: Gate,
  connection: Connection,
  secured: TLSSocket,
  origin: OriginConnection | null,
  found: Found,
): Promise<InterceptionEnd> {
  return new Interception(gate, connection, secured, origin, found).serve();
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
    origin: OriginConnection | null,
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
    // Whoever is silent at first holds no connection of the origin's: two secured sockets cost twice.
    const silent = setTimeout(() => this.#release(), FIRST_REQUEST_MS);
    try {
      reason = await this.#serveAll();
    } catch (error) {
      this.#gate.logger.error({ id: this.#connection.id, err: error }, 'interception failed');
      socket.destroy();
    } finally {
      this.#connection.signal.removeEventListener('abort', onAbort);
      clearTimeout(silent);
      this.#release();
      linger(this.#client);
    }
    const ended = this.#connection.stopped?.ending ?? (idle ? 'idle' : reason);
    return { reason: ended, exchanges: this.#exchanges, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  #release(): void {
    const held = this.#origin;
    this.#origin = null;
    if (held) this.#gate.pool.give(held);
  }

  async #serveAll(): Promise<EndReason> {
    for (;;) {
      const bytes = await this.#client.reader.head(MAX_HEAD_BYTES, HEAD_LIMIT_MS);
      if (bytes === 'end') return 'client_closed';
      if (bytes === 'broken') return 'client_reset';
      const at = this.#gate.now();
      const head = bytes === 'no_head' ? null : parseRequestHead(bytes);
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
    const renewal = new Renewal<Granted>(
      this.#gate,
      isHarmless(asked) ? () => this.#grant(asked.head) : null,
    );
    const keepClient = await this.#ask(asked, granted, renewal);
    const renewed = renewal.take();
    if (!renewed || this.#client.socket.destroyed) return keepClient;
    // An exchange of its own: the first one's row says 401.
    this.#exchanges += 1;
    return this.#ask({ ...asked, at: this.#gate.now() }, renewed, renewal);
  }

  async #ask(asked: Asked, granted: Granted, renewal: Renewal<Granted>): Promise<boolean> {
    const done = await carrying(this.#gate, this.#connection, {
      granted,
      grant: () => this.#grant(asked.head),
      work: (carried) => this.#askOrigin(asked, carried, renewal),
    });
    return typeof done === 'boolean' ? done : this.#refuse(done, asked);
  }

  async #askOrigin(asked: Asked, carried: Carried, renewal: Renewal<Granted>): Promise<boolean | 'changed'> {
    const { granted, stands } = carried;
    for (let sent: ExchangeOutcome | null = null; ; ) {
      const origin = await this.#reach(granted);
      if ('refusal' in origin) return this.#refuse(origin, asked, granted.secrets);
      if (!(await stands())) {
        // What has left once is recorded with its secrets, and not put on anew.
        if (sent) return this.#conclude(asked, granted, origin, sent, true);
        this.#origin = origin;
        return 'changed';
      }
      const reused = origin.used;
      const outcome = await this.#relay(asked, granted, origin, renewal);
      // A kept connection may have died just then. Only what surely has no effect is asked again, over a new one.
      const again =
        outcome.kind === 'unanswered' && reused && isHarmless(asked) && !this.#client.socket.destroyed;
      if (!again) return this.#conclude(asked, granted, origin, outcome, reused);
      sent = outcome;
      origin.socket.destroy();
      this.#gate.pool.drop(granted.scope);
    }
  }

  #grant(head: RequestHead): Promise<Granted | ExchangeRefusal> {
    return grantExchange(this.#gate, this.#connection, head, originHeaders(head, this.#connection.target));
  }

  async #reach(granted: Granted): Promise<OriginConnection | ExchangeRefusal> {
    const held = this.#origin;
    this.#origin = null;
    if (held?.fit && held.adopt(granted.scope)) return held;
    held?.socket.destroy();
    return reachConnection(this.#gate, this.#connection, granted.proof, granted.scope, this.#found);
  }

  #relay(
    asked: Asked,
    granted: Granted,
    origin: OriginConnection,
    renewal: Renewal<Granted>,
  ): Promise<ExchangeOutcome> {
    const { head, framing } = asked;
    const keepTrailer = (line: HeaderLine) => mayTrail(line, granted.secrets);
    origin.used = true;
    const originHead = writeRequestHead({ ...granted.parts, minor: head.minor });
    const scrubber = scrubberOf(granted, this.#connection);
    const passUnauthorized = () => renewal.passes(granted);
    const webSocket = asksWebSocket(head);
    const input = { head, framing, originHead, keepTrailer, webSocket, scrubber, passUnauthorized };
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
    if ('bytesDown' in outcome) this.#bytesDown += outcome.bytesDown;
    if (outcome.kind === 'answered') {
      // Back to the others: a client that is silent now holds no connection of the origin's.
      if (outcome.keepOrigin) this.#gate.pool.give(origin);
      else origin.socket.destroy();
      const { reason, ...code } = reasonOfAnswer(granted.reason, outcome);
      this.#record(asked, reason, outcome.status, granted.secrets, { ...outcome, ...code });
      return outcome.keepClient;
    }
    origin.socket.destroy();
    if (outcome.kind === 'withheld') {
      this.#record(asked, granted.reason, 401, granted.secrets, outcome);
      return false;
    }
    if (outcome.kind === 'refused') {
      return this.#refuse(refusalOfCut(outcome.cut), asked, granted.secrets, outcome);
    }
    if (outcome.kind === 'malformed')
      return this.#refuse({ refusal: 'request_malformed' }, asked, granted.secrets, {
        ...UNSENT,
        bytesUp: outcome.bytesUp,
      });
    if (outcome.kind === 'invalid' || !reused) {
      return this.#refuse({ refusal: 'origin_failed' }, asked, granted.secrets, {
        ...UNSENT,
        bytesUp: outcome.bytesUp,
      });
    }
    // What a direct connection would have shown: clients know to ask again on a new one, and only they know if they may.
    this.#client.socket.destroy();
    this.#record(asked, 'origin_failed', null, granted.secrets, { bytesUp: outcome.bytesUp, bytesDown: 0 });
    return false;
  }

  /** Answers with the reason and closes. @param came what the origin got and answered all the same */
  #refuse(
    refusal: ExchangeRefusal,
    asked: Noted,
    secrets: readonly OpenedSecret[] = [],
    came = UNSENT,
  ): boolean {
    const { refusal: reason, code } = refusal;
    refuse(this.#client.socket, {
      reason,
      connectionId: this.#connection.id,
      keepAlive: false,
      isHead: asked.head.method === 'HEAD',
      ...(code ? { code } : {}),
    });
    this.#record(asked, reason, came.status, secrets, { ...came, code });
    return false;
  }

  #record(
    asked: Noted,
    reason: Reason,
    status: number | null,
    secrets: readonly OpenedSecret[],
    passed: Passed,
  ): void {
    const { method, target } = asked.head;
    const end = { method, target, at: asked.at, reason, status, secrets, masked: 0, ...passed };
    recordExchange(this.#gate, this.#connection, end);
  }
}

function isHarmless({ head, framing }: Asked): boolean {
  return framing.kind === 'none' && (head.method === 'GET' || head.method === 'HEAD');
}

/** A head that cannot be read names nothing. */
const UNREAD = { method: '', target: '' };
/** A client that asked for a connection mostly asks for something at once. */
const FIRST_REQUEST_MS = 250;
