/**
 * The way of an exchange that came as an HTTP/2 stream: what `handle-exchange.ts` is for HTTP/1.1. Each stream is an
 * exchange of its own, with facts and secrets read for it; one that is refused or breaks off leaves the others alone.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { EndReason, Reason } from '../core-lite/reasons.ts';
import type { OpenedSecret } from '../core-lite/vault/secret-reader.ts';
import { bearersOf, mayTrail } from './act/inject.ts';
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
import type { HeaderLine } from './http1/head.ts';
import { isHarmless, mayAskAgain } from './http2/ask-again.ts';
import { openClientSession } from './http2/client-session.ts';
import { Ending, isOpen } from './http2/ending.ts';
import type { StreamOutcome } from './http2/exchange.ts';
import {
  dropHopHeaders,
  readRequestHead,
  type StreamHead,
  sensitiveNames,
  writeRequestHead,
} from './http2/head.ts';
import { OriginSession } from './http2/origin-session.ts';
import { refuseStream } from './http2/refuse.ts';
import { relayStream } from './http2/relay.ts';
import { type Found, reachSession, type SecuredOrigin, type Unreached } from './reach.ts';
import { Renewal } from './renewal.ts';

/**
 * Serves the streams of one client connection. Never rejects.
 * @param origin what the CONNECT was answered on
 */
export async function serveStreams(
  gate: Gate,
  connection: Connection,
  secured: TLSSocket,
  origin: SecuredOrigin,
  found: Found,
): Promise<InterceptionEnd> {
  // Until its settings have come, nobody knows whether the origin takes WebSockets, and the client is told once.
  const webSockets = origin instanceof OriginSession && (await origin.takesWebSockets(connection.signal));
  return new StreamInterception(gate, connection, found).serve(secured, webSockets);
}

/** A stream, with what the record wants to know of it. */
interface Asked {
  readonly stream: ServerHttp2Stream;
  readonly head: StreamHead;
  /** How the client ends it. */
  readonly ending: Ending;
  readonly at: Date;
  /** Streams of the environment that were open when it came. */
  readonly others: number;
}

class StreamInterception {
  readonly #gate: Gate;
  readonly #connection: Connection;
  readonly #found: Found;
  readonly #open = new Set<Promise<void>>();
  /** Streams that need a session at the same time are not each to dial one. */
  readonly #reaching = new Map<string, Promise<OriginSession | Unreached>>();
  #exchanges = 0;
  #bytesUp = 0;
  #bytesDown = 0;

  constructor(gate: Gate, connection: Connection, found: Found) {
    this.#gate = gate;
    this.#connection = connection;
    this.#found = found;
  }

  async serve(secured: TLSSocket, webSockets: boolean): Promise<InterceptionEnd> {
    const { signal } = this.#connection;
    let reason: EndReason = 'client_closed';
    if (!secured.destroyed && !signal.aborted) {
      const session = openClientSession(secured, webSockets);
      const onAbort = () => session.destroy();
      signal.addEventListener('abort', onAbort, { once: true });
      reason = await this.#serveAll(session);
      signal.removeEventListener('abort', onAbort);
    }
    secured.destroy();
    await Promise.all(this.#open);
    const ended = this.#connection.stopped?.ending ?? reason;
    return { reason: ended, exchanges: this.#exchanges, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  #serveAll(session: ServerHttp2Session): Promise<EndReason> {
    return new Promise((resolve) => {
      let reason: EndReason = 'client_closed';
      session.on('error', () => {
        reason = 'client_reset';
      });
      session.setTimeout(this.#gate.tunnelIdleMs, () => {
        reason = 'idle';
        session.destroy();
      });
      session.on('stream', (stream, headers, flags, raw) => {
        const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
        this.#take(stream, new Ending(stream, ended), readRequestHead(raw, sensitiveNames(headers)));
      });
      session.once('close', () => resolve(reason));
    });
  }

  #take(stream: ServerHttp2Stream, ending: Ending, head: StreamHead | null): void {
    stream.on('error', ignore);
    this.#exchanges += 1;
    const at = this.#gate.now();
    const others = this.#gate.registry.beginStream(this.#connection);
    const serving = head
      ? this.#serveOne({ stream, head, ending, at, others })
      : Promise.resolve(this.#refuse({ refusal: 'request_malformed' }, { stream, head: UNREAD, at }));
    const open = serving
      .catch((error: unknown) => {
        this.#gate.logger.error({ id: this.#connection.id, err: error }, 'exchange failed');
        stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        // Such as a head that the library does not send.
        this.#record({ stream, head: head ?? UNREAD, at }, 'request_malformed', null, [], UNSENT);
      })
      .finally(() => {
        this.#gate.registry.endStream(this.#connection);
        this.#open.delete(open);
      });
    this.#open.add(open);
  }

  async #serveOne(asked: Asked): Promise<void> {
    // Plain CONNECT and whatever else a stream may be turned into but a WebSocket.
    const { method, protocol } = asked.head.stated;
    if (protocol !== null && (method !== 'CONNECT' || protocol !== 'websocket')) {
      return this.#refuse({ refusal: 'method_refused' }, asked);
    }
    const granted = await this.#grant(asked);
    if ('refusal' in granted) return this.#refuse(granted, asked);
    const renewal = new Renewal<Granted>(this.#gate, isHarmless(asked) ? () => this.#grant(asked) : null);
    await this.#ask(asked, granted, renewal);
    const renewed = renewal.take();
    if (!renewed || !isOpen(asked.stream)) return;
    // An exchange of its own: the first one's row says 401.
    this.#exchanges += 1;
    await this.#ask({ ...asked, at: this.#gate.now() }, renewed, renewal);
  }

  async #ask(asked: Asked, granted: Granted, renewal: Renewal<Granted>): Promise<void> {
    const refused = await carrying(this.#gate, this.#connection, {
      granted,
      grant: () => this.#grant(asked),
      work: (carried) => this.#askOrigin(asked, carried, renewal),
    });
    if (refused) this.#refuse(refused, asked);
  }

  async #askOrigin(asked: Asked, carried: Carried, renewal: Renewal<Granted>): Promise<null | 'changed'> {
    const { granted, stands } = carried;
    let conclude: (() => void) | null = null;
    for (let attempt = 1; ; attempt++) {
      const origin = await this.#reach(granted);
      if ('refusal' in origin) {
        this.#refuse(origin, asked, granted.secrets);
        return null;
      }
      const holds = await stands();
      if (!holds && !conclude) return 'changed';
      // What has left once is recorded with its secrets, and not put on anew.
      if (!holds) break;
      const reused = origin.used;
      const outcome = await this.#relay(asked, granted, origin, renewal);
      conclude = () => this.#conclude(asked, granted, origin, outcome);
      if (attempt === MAX_ATTEMPTS || !mayAskAgain(asked, outcome, reused)) break;
    }
    conclude?.();
    return null;
  }

  #grant({ head, others }: Asked): Promise<Granted | ExchangeRefusal> {
    return grantExchange(this.#gate, this.#connection, head, dropHopHeaders(head.headers), others);
  }

  #reach({ proof, scope }: Granted): Promise<OriginSession | Unreached> {
    const running = this.#reaching.get(scope);
    if (running) return running;
    const reaching = reachSession(this.#gate, this.#connection, proof, scope, this.#found).finally(() =>
      this.#reaching.delete(scope),
    );
    this.#reaching.set(scope, reaching);
    return reaching;
  }

  #relay(
    { stream, head, ending }: Asked,
    granted: Granted,
    origin: OriginSession,
    renewal: Renewal<Granted>,
  ): Promise<StreamOutcome> {
    const { proof, parts, secrets } = granted;
    const originHead = writeRequestHead(parts, head, bearersOf(parts, secrets));
    const keepTrailer = (line: HeaderLine) => mayTrail(line, secrets);
    const open = (raw: readonly string[], ended: boolean) =>
      this.#gate.sessions.request(origin, raw, { endStream: ended, waitForTrailers: !ended });
    const scrubber = scrubberOf(granted, this.#connection);
    const passUnauthorized = () => renewal.passes(granted);
    const isWebSocket = head.stated.protocol !== null;
    const input = { originHead, request: ending, keepTrailer, scrubber, isWebSocket, passUnauthorized };
    return relayStream(proof, input, stream, open);
  }

  #conclude(
    asked: Asked,
    { secrets, reason: approved }: Granted,
    origin: OriginSession,
    outcome: StreamOutcome,
  ): void {
    this.#bytesUp += outcome.bytesUp;
    if ('bytesDown' in outcome) this.#bytesDown += outcome.bytesDown;
    if (outcome.kind === 'answered') {
      const { reason, ...code } = reasonOfAnswer(approved, outcome);
      this.#record(asked, reason, outcome.status, secrets, { ...outcome, ...code });
      return;
    }
    if (outcome.kind === 'withheld') {
      this.#record(asked, approved, 401, secrets, outcome);
      return;
    }
    if (outcome.kind === 'refused') {
      this.#refuse(refusalOfCut(outcome.cut), asked, secrets, outcome);
      return;
    }
    // The code of a reset says more than an answer of ours could; a session that died says nothing.
    const left = outcome.kind === 'unanswered' && outcome.left;
    if (!left && (outcome.kind === 'invalid' || !origin.fit)) {
      this.#refuse({ refusal: 'origin_failed' }, asked, secrets, { ...UNSENT, bytesUp: outcome.bytesUp });
      return;
    }
    if (outcome.kind === 'unanswered') asked.stream.close(outcome.code);
    this.#record(asked, left ? 'client_reset' : 'origin_failed', null, secrets, {
      bytesUp: outcome.bytesUp,
      bytesDown: 0,
    });
  }

  /** Answers with the reason; the connection goes on. @param came what the origin got and answered all the same */
  #refuse(
    { refusal: reason, code }: ExchangeRefusal,
    asked: Noted,
    secrets: readonly OpenedSecret[] = [],
    came = UNSENT,
  ): void {
    refuseStream(asked.stream, { reason, connectionId: this.#connection.id, ...(code ? { code } : {}) });
    this.#record(asked, reason, came.status, secrets, { ...came, code });
  }

  #record(
    { head, at }: Noted,
    reason: Reason,
    status: number | null,
    secrets: readonly OpenedSecret[],
    passed: Passed,
  ): void {
    const { target, stated } = head;
    const end = { method: stated.method, target, at, reason, status, secrets, masked: 0, ...passed };
    recordExchange(this.#gate, this.#connection, end);
  }
}

/** What the record says of a stream, also of one whose head says nothing. */
interface Noted {
  readonly stream: ServerHttp2Stream;
  readonly head: Pick<StreamHead, 'target' | 'stated'>;
  readonly at: Date;
}

function ignore(): void {}

const UNREAD: Noted['head'] = { target: '', stated: { method: '', protocol: null } };
const MAX_ATTEMPTS = 3;
