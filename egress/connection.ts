/**
 * One CONNECT from the moment its token is known until its row is closed. Whatever ends it from outside (a change, the
 * client's leaving, shutdown) aborts its signal with the reason; every stage that waits looks there.
 */
import { makeId } from '../core-lite/id.ts';
import type { Target } from '../core-lite/network/target.ts';
import type { EndReason, RefusalReason } from '../core-lite/reasons.ts';
import type { EgressToken } from './authenticate.ts';
import type { ConnectionMode } from './decide/connect.ts';
import type { UnderWay } from './decide/rules.ts';

/** Why a connection was stopped: what its client is told if it is not open yet, and what the record says if it is. */
export interface Stop {
  readonly refusal: RefusalReason;
  readonly ending: EndReason;
}

export class Connection {
  readonly id = makeId('con');
  readonly token: EgressToken;
  readonly target: Target;
  /** The client's address. */
  readonly source: string;
  readonly openedAt: Date;
  readonly #abort = new AbortController();
  readonly #carried = new Set<UnderWay>();
  #stop: Stop | null = null;
  /** What is done with it once it is open; `null` until its facts are known. */
  mode: ConnectionMode | null = null;
  /** When it was last found to be allowed, milliseconds since the epoch. */
  judgedAt: number;

  constructor(token: EgressToken, target: Target, source: string, now: Date) {
    this.token = token;
    this.target = target;
    this.source = source;
    this.openedAt = now;
    this.judgedAt = now.getTime();
  }

  get environmentId(): string {
    return this.token.claims.sub;
  }

  /** Aborted when the connection must end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why it was stopped; `null` while it may go on. */
  get stopped(): Stop | null {
    return this.#stop;
  }

  /** Exchanges that are under way in it with secrets. */
  get carried(): readonly UnderWay[] {
    return [...this.#carried];
  }

  /** Notes one. @returns tells that it is over */
  carry(exchange: UnderWay): () => void {
    this.#carried.add(exchange);
    return () => this.#carried.delete(exchange);
  }

  /** The first reason stands. */
  stop(stop: Stop): void {
    if (this.#stop) return;
    this.#stop = stop;
    this.#abort.abort();
  }
}
