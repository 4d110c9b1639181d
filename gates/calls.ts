/**
 * The calls that run now. A call is registered before its facts are read, so that a change that arrives while it
 * resolves or streams is seen: a run that is over, a revoked key, or facts that cannot be read for too long end it.
 */
import type { ServerResponse } from 'node:http';
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import { makeId } from '../core-lite/id.ts';
import type { VerifiedToken } from '../core-lite/tokens/verify.ts';
import { type CallerToken, decideStaleness } from './caller-token.ts';
import type { Reserved } from './estimate.ts';
import type { Facts } from './facts.ts';
import type { StopReason } from './reasons.ts';

export type RunToken = VerifiedToken<'run'>;

/** One call that runs. */
export class Call<Token extends CallerToken = RunToken> {
  /** Of its row in the ledger, if it gets one. */
  readonly id = makeId('usg');
  readonly token: Token;
  readonly at: Date;
  /** Set before anything of it leaves. */
  sent = false;
  /** What it has reserved since it started. */
  reserved: Reserved | null = null;
  /** The credential that a tool is called with, once it is known. */
  credentialId: string | null = null;
  readonly #controller = new AbortController();
  #stopped: StopReason | null = null;

  constructor(token: Token, at: Date) {
    this.token = token;
    this.at = at;
  }

  /** Aborted when the call must end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it must end. */
  get stopped(): StopReason | null {
    return this.#stopped;
  }

  stop(reason: StopReason): void {
    if (this.#stopped) return;
    this.#stopped = reason;
    this.#controller.abort();
  }
}

/** Whoever's it is. */
export type AnyCall = Call<CallerToken>;

export interface CallsOptions {
  readonly feed: ChangeFeed;
  readonly facts: Facts;
  /** How long running calls outlive a lost feed, milliseconds. */
  readonly graceMs: number;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #running = new Map<string, Set<AnyCall>>();
  #size = 0;
  #closing = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(options: CallsOptions) {
    this.#options = options;
    options.feed.subscribe({
      change: (change) => {
        if (change.kind === 'session') void this.#recheckAll(this.#running.get(change.id) ?? []);
        if (change.kind === 'signing_key') void this.#recheckAll(this.#all());
      },
      lost: () => {
        clearTimeout(this.#grace);
        this.#grace = setTimeout(() => {
          this.#grace = undefined;
          void this.#recheckAll(this.#all());
        }, options.graceMs).unref();
      },
      restored: () => {
        clearTimeout(this.#grace);
        this.#grace = undefined;
        void this.#recheckAll(this.#all());
      },
    });
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Registers a call, which is also stopped when its client leaves before the answer is whole.
   * @param response `null` for a call that its client's leaving does not end
   */
  begin<Token extends CallerToken>(token: Token, at: Date, response: ServerResponse | null): Call<Token> {
    const call = new Call(token, at);
    if (response) stopWithClient(call, response);
    const ofSession = this.#running.get(token.claims.sub) ?? new Set();
    this.#running.set(token.claims.sub, ofSession.add(call));
    this.#size += 1;
    if (this.#closing) call.stop('shutting_down');
    return call;
  }

  end(call: AnyCall): void {
    const ofSession = this.#running.get(call.token.claims.sub);
    if (!ofSession?.delete(call)) return;
    this.#size -= 1;
    if (ofSession.size === 0) this.#running.delete(call.token.claims.sub);
  }

  /** Ends every call, and each that still begins. */
  stopAll(): void {
    this.#closing = true;
    for (const call of this.#all()) call.stop('shutting_down');
  }

  /** Ends the calls that run now: others have taken this gate for dead, and settled them. */
  stopRunning(reason: StopReason): void {
    for (const call of this.#all()) call.stop(reason);
  }

  close(): void {
    clearTimeout(this.#grace);
  }

  #all(): AnyCall[] {
    return [...this.#running.values()].flatMap((calls) => [...calls]);
  }

  async #recheckAll(calls: Iterable<AnyCall>): Promise<void> {
    await Promise.all([...calls].map((call) => this.#recheck(call)));
  }

  async #recheck(call: AnyCall): Promise<void> {
    const { facts } = this.#options;
    const { claims, kid } = call.token;
    try {
      const [keys, session] = await Promise.all([facts.keys(), facts.session(claims.sub)]);
      if (!keys.byKid.has(kid)) call.stop('token_untrusted');
      else if (decideStaleness(call.token, session)) call.stop('run_stale');
    } catch {
      // While the feed is lost the grace runs; after it, what cannot be read is not served.
      if (!this.#options.feed.live && this.#grace !== undefined) return;
      call.stop('facts_unavailable');
    }
  }
}

function stopWithClient(call: AnyCall, response: ServerResponse): void {
  const leave = (): void => {
    if (!response.writableFinished) call.stop('client_left');
  };
  response.once('close', leave);
  // The answer to a pipelined request has no connection before those ahead of it are whole.
  if (!response.socket) response.req.socket.once('close', leave);
  if (response.destroyed) leave();
}
