/**
 * What one gate holds of legacy sessions beside what their ids say: which requests run, what was asked of the client, the
 * stream that it reads, and what it set, which is the database's and read once. It is made when it is needed.
 */
import type { Answer, RequestId } from '../messages.ts';
import type { SessionSettings, SessionStore } from './session-store.ts';

export class LegacyMemory {
  readonly #store: SessionStore;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Remembered>();

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** What is held of a session, with what its client set. Rejects with Fault `database_unreachable`. */
  async load(key: string): Promise<Remembered> {
    const held = this.of(key);
    held.settings ??= (await this.#store.load(key)) ?? NOTHING_SET;
    return held;
  }

  /** Of a session that was made just now: nothing is to be read of it. */
  begin(key: string): void {
    this.of(key).settings = NOTHING_SET;
  }

  /** What is held of it; nothing is made. */
  peek(key: string): Remembered | undefined {
    return this.#sessions.get(key);
  }

  /** What is held of it; made where it is not there. */
  of(key: string): Remembered {
    const held = this.#sessions.get(key) ?? new Remembered();
    this.#sessions.delete(key);
    this.#sessions.set(key, held);
    if (this.#sessions.size > MAX_SESSIONS) this.#forgetOldest();
    return held;
  }

  /** The client sets something. Rejects with Fault `database_unreachable`. */
  async set(key: string, sessionId: string, change: Partial<SessionSettings>): Promise<void> {
    const { settings } = await this.load(key);
    const changed = { ...(settings ?? NOTHING_SET), ...change };
    await this.#store.save(key, sessionId, changed);
    this.#apply(key, changed);
  }

  /** The client set something at another gate. */
  async refresh(key: string): Promise<void> {
    if (this.#sessions.has(key)) this.#apply(key, (await this.#store.load(key)) ?? NOTHING_SET);
  }

  #apply(key: string, settings: SessionSettings): void {
    const held = this.of(key);
    held.settings = settings;
    if (!settings.ended) {
      held.stream?.restart();
      return;
    }
    held.stream?.end();
    for (const cancel of held.running.values()) cancel();
  }

  #forgetOldest(): void {
    for (const [key, held] of this.#sessions) {
      if (held.idle) {
        this.#sessions.delete(key);
        return;
      }
    }
  }
}

export class Remembered {
  /** `null`: not read yet. */
  settings: SessionSettings | null = null;
  /** The stream that it reads: `restart` where it shall hear something else. */
  stream: { readonly restart: () => void; readonly end: () => void } | null = null;
  /** By `nameId`, how each is cancelled. */
  readonly running = new Map<string, () => void>();
  /** By `nameId`, what waits for the client's answer. */
  readonly asked = new Map<string, (answer: Answer) => void>();

  get idle(): boolean {
    return this.stream === null && this.running.size === 0 && this.asked.size === 0;
  }
}

/** A text and a number are different ids. */
export function nameId(id: RequestId): string {
  return JSON.stringify(id);
}

const NOTHING_SET: SessionSettings = { ended: false, logLevel: null, subscribed: [] };
const MAX_SESSIONS = 10_000;
