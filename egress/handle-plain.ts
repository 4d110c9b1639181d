/**
 * The way of a plain request: admitted like a CONNECT (authenticate, facts, decide, record), then resolve, decide on
 * addresses, dial or take a kept connection, relay, record. Each request is a connection of the record with one
 * exchange. No secret is ever put on, but for the login of a parent proxy, which never comes back.
 */
import type { Allow } from '../core-lite/decision.ts';
import type { EndReason, Reason } from '../core-lite/reasons.ts';
import type { ExchangeOutcome, Side } from './act/exchange.ts';
import { relay } from './act/relay.ts';
import { reset } from './act/reset.ts';
import { admit, CLIENT_LEFT, endUnreached, type Refused } from './admit.ts';
import type { Connection, Stop } from './connection.ts';
import { decidePlain } from './decide/connect.ts';
import type { Gate } from './gate.ts';
import { reasonOfAnswer, recordExchange, refusalOfCut } from './grant.ts';
import { framesOrRoutes } from './http1/connection-headers.ts';
import { foldName, type HeaderLine } from './http1/head.ts';
import { asksWebSocket } from './http1/upgrade.ts';
import { writeRequestHead } from './http1/write-head.ts';
import type { OriginConnection } from './origin-pool.ts';
import { parentFailed } from './parent/failure.ts';
import { type Found, reachPlain, type Unreached, type Way } from './reach.ts';
import type { PlainRequest } from './read-plain.ts';
import { Scrubber } from './scrub/scrubber.ts';

/** A plain request that was read, and where its body comes from. */
export interface PlainArrival {
  readonly client: Side;
  readonly request: PlainRequest;
  readonly source: string;
}

/** It was answered by its origin. */
export interface Answered {
  /** Whether the client may ask again on its connection. */
  readonly keepAlive: boolean;
}

type Answer = Extract<ExchangeOutcome, { kind: 'answered' }>;

/** Serves one request. Resolves when it was answered, or to why it was not; never rejects. */
export function handlePlain(gate: Gate, arrival: PlainArrival): Promise<Refused | Answered> {
  const { target, credential } = arrival.request;
  const asking = { target, credential, source: arrival.source };
  return admit(gate, asking, {
    decide: decidePlain,
    act: (connection, proof) => new Plain(gate, arrival, connection, proof).serve(),
  });
}

class Plain {
  readonly #gate: Gate;
  readonly #client: Side;
  readonly #request: PlainRequest;
  readonly #connection: Connection;
  readonly #proof: Allow;
  readonly #found: Found = { addresses: [], address: null };
  #idle = false;

  constructor(gate: Gate, { client, request }: PlainArrival, connection: Connection, proof: Allow) {
    this.#gate = gate;
    this.#client = client;
    this.#request = request;
    this.#connection = connection;
    this.#proof = proof;
  }

  /** From the committed row on: every way out of here closes it. */
  async serve(): Promise<Refused | Answered> {
    const reached = await this.#whileClientStays(() => this.#reach(false));
    if ('refusal' in reached)
      return endUnreached(this.#gate, this.#connection, this.#proof, this.#found, reached);
    const outcome = await this.#whileWatched(() => this.#ask(reached));
    return 'refusal' in outcome ? this.#refuse(outcome) : this.#end(outcome);
  }

  /** RFC 6455 4.1. A parent that reads on as HTTP what comes behind a 101 would take requests of the client's for ours. */
  get #way(): Way {
    return asksWebSocket(this.#request.head) ? 'tunnel' : 'plain';
  }

  /** @param fresh whether a kept connection will not do */
  async #reach(fresh: boolean): Promise<OriginConnection | Unreached> {
    // A kept connection may die just as it is used: only what may be asked again goes over one.
    const how = { way: this.#way, fresh: fresh || !isHarmless(this.#request) };
    return reachPlain(this.#gate, this.#connection, this.#proof, this.#found, how).catch((error: unknown) => {
      this.#gate.logger.error({ id: this.#connection.id, err: error }, 'connection failed');
      return UNREADABLE;
    });
  }

  async #ask(origin: OriginConnection): Promise<Unheard | Answer> {
    const { head, framing, originHead } = this.#request;
    const reused = origin.used;
    origin.used = true;
    const parent = this.#way === 'plain' ? this.#gate.parent : null;
    const toSend = parent ? parent.plainHead(originHead, this.#request.target) : originHead;
    const written = { originHead: writeRequestHead(toSend), viaProxy: parent?.readsHttp ?? false };
    const input = {
      head,
      framing,
      ...written,
      keepTrailer: ({ name }: HeaderLine) => !framesOrRoutes(foldName(name)),
      webSocket: asksWebSocket(head),
      scrubber: new Scrubber(parent?.plainSecrets ?? [], this.#connection.environmentId),
    };
    const outcome = await relay(this.#proof, input, this.#client, origin);
    if (outcome.kind === 'answered') {
      if (outcome.keepOrigin) this.#gate.pool.give(origin);
      else origin.socket.destroy();
      return outcome;
    }
    origin.socket.destroy();
    const { bytesUp } = outcome;
    if (outcome.kind === 'refused') return { ...refusalOfCut(outcome.cut), answer: outcome, bytesUp };
    const again = outcome.kind === 'unanswered' && reused && !this.#client.socket.destroyed;
    if (!again) return { ...UNANSWERED[outcome.kind], bytesUp };
    // Others that were kept may be dead too.
    this.#gate.pool.drop(origin.scope);
    const fresh = await this.#reach(true);
    return 'refusal' in fresh ? { ...fresh, bytesUp } : this.#ask(fresh);
  }

  /** Nobody waits for an origin on behalf of a client that has gone. */
  async #whileClientStays<Result>(work: () => Promise<Result>): Promise<Result> {
    const { socket } = this.#client;
    const leave = () => this.#connection.stop(CLIENT_LEFT);
    if (socket.destroyed) leave();
    socket.once('close', leave);
    return work().finally(() => socket.removeListener('close', leave));
  }

  /** A change breaks it off, and so does silence; the relay sees it by its client's socket. */
  async #whileWatched<Result>(work: () => Promise<Result>): Promise<Result> {
    const { socket } = this.#client;
    const { signal } = this.#connection;
    const onAbort = () => reset(socket);
    const onSilence = () => {
      this.#idle = true;
      reset(socket);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    socket.setTimeout(this.#gate.tunnelIdleMs, onSilence);
    return work().finally(() => {
      signal.removeEventListener('abort', onAbort);
      socket.setTimeout(0).removeListener('timeout', onSilence);
    });
  }

  #end(answer: Answer): Answered {
    const { complete, left, status, keepClient } = answer;
    const { reason, code } = reasonOfAnswer(this.#proof.reason, answer);
    this.#note(reason, status, answer, code);
    this.#close(complete ? 'answered' : this.#brokenBy(left ? 'client_reset' : 'origin_reset'), answer);
    return { keepAlive: keepClient };
  }

  #refuse({ refusal, bytesUp, code, answer }: Unheard): Refused {
    const bytes = { bytesUp, bytesDown: answer?.bytesDown ?? 0 };
    this.#note(refusal, answer?.status ?? null, bytes, code);
    const gone = this.#client.socket.destroyed;
    if (gone) this.#close(this.#brokenBy('client_reset'), bytes);
    else
      this.#gate.record.end(this.#connection, {
        verdict: 'denied',
        reason: refusal,
        code,
        ...this.#ending(bytes),
      });
    return { reason: refusal, connectionId: this.#connection.id, ...(code ? { code } : {}) };
  }

  #brokenBy(otherwise: EndReason): EndReason {
    return this.#connection.stopped?.ending ?? (this.#idle ? 'idle' : otherwise);
  }

  #close(reason: EndReason, bytes: Bytes): void {
    this.#gate.record.end(this.#connection, { verdict: this.#proof.verdict, reason, ...this.#ending(bytes) });
  }

  #ending({ bytesUp, bytesDown }: Bytes) {
    return { ...this.#found, exchanges: 1, bytesUp, bytesDown };
  }

  #note(reason: Reason, status: number | null, passed: Passed, code?: string): void {
    const { head, originHead } = this.#request;
    const { bytesUp, bytesDown, masked = 0 } = passed;
    recordExchange(this.#gate, this.#connection, {
      method: head.method,
      target: originHead.target,
      at: this.#connection.openedAt,
      reason,
      status,
      secrets: [],
      masked,
      code,
      bytesUp,
      bytesDown,
    });
  }
}

interface Bytes {
  readonly bytesUp: number;
  readonly bytesDown: number;
}

interface Passed extends Bytes {
  readonly masked?: number;
}

/** The origin was reached, and gave no answer that could be passed on. */
type Unheard = Unreached & {
  readonly bytesUp: number;
  /** The one that could not be. */
  readonly answer?: { readonly status: number; readonly bytesDown: number };
};

/** Asked twice it does what it does once, and it has no body that is gone after the first time. */
function isHarmless({ head, framing }: PlainRequest): boolean {
  return framing.kind === 'none' && (head.method === 'GET' || head.method === 'HEAD');
}

const UNANSWERED: Readonly<Record<Exclude<ExchangeOutcome['kind'], 'answered' | 'refused'>, Unreached>> = {
  unanswered: { refusal: 'origin_failed' },
  invalid: { refusal: 'origin_failed' },
  malformed: { refusal: 'request_malformed' },
  proxy_login: parentFailed('AUTH'),
  withheld: { refusal: 'origin_failed' },
};
const UNREADABLE: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
