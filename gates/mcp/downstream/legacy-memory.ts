/**
 * What one gate holds of legacy sessions beside what their ids say: which requests run, what was asked of the client,
 * its stream, its log level, what it subscribed to. It is made when it is needed and may be lost: then a log level is
 * the server's own again, and a resource is subscribed to once more when the client asks.
 */
import type { Answer, RequestId } from '../messages.ts';

export class LegacyMemory {
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Remembered>();

  /** What is held of a session; made where it is not there. */
  of(key: string): Remembered {
    const held = this.#sessions.get(key) ?? new Remembered();
    this.#sessions.delete(key);
    this.#sessions.set(key, held);
    if (this.#sessions.size > MAX_SESSIONS) this.#forgetOldest();
    return held;
  }

  /** What is held of it; nothing is made. */
  peek(key: string): Remembered | undefined {
    return this.#sessions.get(key);
  }

  /** Its client ended the session. */
  end(key: string): void {
    const held = this.of(key);
    held.ended = true;
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
  /** The client ended it. */
  ended = false;
  logLevel: string | null = null;
  /** Ends the stream that it reads. */
  stream: { readonly restart: () => void; readonly end: () => void } | null = null;
  readonly subscribed = new Set<string>();
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

const MAX_SESSIONS = 10_000;
