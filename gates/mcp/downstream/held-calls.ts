/**
 * Calls of legacy servers that asked something of a modern client in the middle of it. A modern client is not asked: its
 * request is answered with the question, the call waits here, and the client's next round brings the answer. A call whose
 * client does not come back is cancelled; what waits is bounded.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, isJsonObject, type JsonObject, RPC } from '../messages.ts';
import type { ServerRequest } from '../upstream/server.ts';
import type { PeerOutcome } from '../way.ts';

/** What came first: the call's outcome, or questions to the client, by the keys under which it answers them. */
export type Turn =
  | { readonly outcome: PeerOutcome }
  | { readonly questions: Readonly<Record<string, ServerRequest>> };

/** Whoever hears of a call's progress at the moment. */
export interface Listener {
  readonly progress: (params: JsonObject) => void;
  readonly log: (params: JsonObject) => void;
}

interface Question {
  readonly request: ServerRequest;
  readonly answer: (answer: Answer) => void;
}

/** One call that may ask. */
export class HeldCall {
  listener: Listener;
  readonly #questions = new Map<string, Question>();
  readonly #controller = new AbortController();
  readonly #settled = Promise.withResolvers<PeerOutcome>();
  #outcome: Promise<PeerOutcome> | null = null;
  #wake: (() => void) | null = null;
  #count = 0;

  constructor(listener: Listener) {
    this.listener = listener;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(outcome: Promise<PeerOutcome>): void {
    this.#outcome = Promise.race([outcome, this.#settled.promise]);
    // Whoever waits for it hears of a fault; nobody may wait just then.
    this.#outcome.catch(() => {});
  }

  /** Ends it with an outcome of our own; what the server still does of it is cancelled. */
  settle(outcome: PeerOutcome): void {
    this.#settled.resolve(outcome);
    this.cancel();
  }

  cancel(): void {
    this.#controller.abort();
    for (const { answer } of this.#questions.values()) answer(GONE);
    this.#questions.clear();
  }

  /** @param signal aborted when nobody wants to know any more */
  ask(request: ServerRequest, signal: AbortSignal): Promise<Answer> {
    if (this.signal.aborted || signal.aborted) return Promise.resolve(GONE);
    return new Promise((resolve) => {
      this.#count += 1;
      const key = `input-${this.#count}`;
      this.#questions.set(key, { request, answer: resolve });
      const takeBack = (): void => {
        this.#questions.delete(key);
        resolve(GONE);
      };
      signal.addEventListener('abort', takeBack, { once: true });
      this.#wake?.();
    });
  }

  /** What the client answered, by the keys of the questions. What it left out is asked again. */
  answer(responses: JsonObject): void {
    for (const [key, { answer }] of [...this.#questions]) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (!isJsonObject(response)) continue;
      this.#questions.delete(key);
      answer({ result: response });
    }
  }

  /** Rejects with a Fault as the call does. */
  async next(): Promise<Turn> {
    if (!this.#outcome) throw new TypeError('the call has not begun');
    const ended = this.#outcome.then((outcome) => ({ outcome }));
    for (;;) {
      const first = await Promise.race([ended, this.#someAsked()]);
      if (first) return first;
      // All of it may have been taken back meanwhile.
      if (this.#questions.size > 0) return { questions: this.#openQuestions() };
    }
  }

  async #someAsked(): Promise<null> {
    if (this.#questions.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
    // What is asked at the same time goes out together.
    return pause(GATHER_MS, null);
  }

  #openQuestions(): Readonly<Record<string, ServerRequest>> {
    return Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request]));
  }
}

/** What came of a round, where the call waits on: its questions, and by what it is found again. */
export type HeldTurn =
  | { readonly outcome: PeerOutcome }
  | { readonly questions: Readonly<Record<string, ServerRequest>>; readonly id: string };

/** The calls that wait for their clients. */
export class HeldCalls {
  readonly #waiting = new Map<string, { readonly call: HeldCall; readonly expiry: NodeJS.Timeout }>();

  /** Rejects as the call does. */
  async next(call: HeldCall): Promise<HeldTurn> {
    const turn = await call.next();
    if ('outcome' in turn) return turn;
    call.listener = DEAF;
    const id = this.#hold(call);
    if (id !== null) return { ...turn, id };
    call.cancel();
    return { outcome: { refusal: 'mcp_busy' } };
  }

  /** @returns by which its client finds it again; `null` where no more may wait */
  #hold(call: HeldCall): string | null {
    if (this.#waiting.size >= MAX_WAITING) return null;
    const id = randomBytes(16).toString('base64url');
    const expire = (): void => {
      this.#waiting.delete(id);
      call.cancel();
    };
    this.#waiting.set(id, { call, expiry: setTimeout(expire, MAX_WAIT_MS).unref() });
    return id;
  }

  /** The call, which does not wait any more. Whoever holds a sealed id of it may take it, and what it is of is sealed with it. */
  take(id: string): HeldCall | null {
    const held = this.#waiting.get(id);
    if (!held) return null;
    clearTimeout(held.expiry);
    this.#waiting.delete(id);
    return held.call;
  }

  close(): void {
    for (const { call, expiry } of this.#waiting.values()) {
      clearTimeout(expiry);
      call.cancel();
    }
    this.#waiting.clear();
  }
}

const GONE: Answer = { error: { code: RPC.internal, message: 'the client did not answer' } };
/** Between two rounds nobody hears. */
const DEAF: Listener = { progress: () => {}, log: () => {} };
const GATHER_MS = 50;
/** A person may have to be asked. */
const MAX_WAIT_MS = 10 * 60_000;
const MAX_WAITING = 1_000;
