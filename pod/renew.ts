/**
 * The tokens of one run, kept fresh: a heartbeat each minute tells core that the run is alive, and brings new tokens in
 * time. When core says that the run is over its owner is told once; the tokens stay, and the gates say the same to
 * whoever still asks.
 */

export interface RunTokens {
  readonly runToken: string;
  /** RFC 3339. */
  readonly runTokenExpiresAt: string;
  readonly egressToken: string;
}

/** What core said to a heartbeat: still ours, maybe with new tokens, or `stale`. */
export type Beat = Partial<RunTokens> | 'stale';

export interface RenewOptions {
  readonly tokens: RunTokens;
  /** @param expiresAt of the run token that is held. Rejects where core cannot be reached; it is asked again soon. */
  readonly heartbeat: (expiresAt: string) => Promise<Beat>;
  /** The lease was taken over, or the turn is over. Called once at most. */
  readonly onStale: () => void;
  /** Core cannot be asked and the tokens have less than a minute left. Called once for each such loss. */
  readonly onTrouble: () => void;
  /** Milliseconds between heartbeats; a minute if left out. */
  readonly intervalMs?: number;
  /** Milliseconds until core is asked again that did not answer; 5 s if left out. */
  readonly retryMs?: number;
  readonly now?: () => number;
}

export class HeldTokens {
  readonly #options: RenewOptions;
  #tokens: RunTokens;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #troubled = false;

  constructor(options: RenewOptions) {
    this.#options = options;
    this.#tokens = options.tokens;
    this.#wait(options.intervalMs ?? INTERVAL_MS);
  }

  get runToken(): string {
    return this.#tokens.runToken;
  }

  get egressToken(): string {
    return this.#tokens.egressToken;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#beat(), ms);
    // The run is kept alive by its command.
    this.#timer.unref();
  }

  async #beat(): Promise<void> {
    const { heartbeat, onStale, intervalMs = INTERVAL_MS, retryMs = RETRY_MS } = this.#options;
    try {
      const beat = await heartbeat(this.#tokens.runTokenExpiresAt);
      if (this.#closed) return;
      if (beat === 'stale') {
        this.close();
        onStale();
        return;
      }
      this.#troubled = false;
      this.#tokens = { ...this.#tokens, ...beat };
      this.#wait(intervalMs);
    } catch {
      this.#trouble();
      this.#wait(retryMs);
    }
  }

  #trouble(): void {
    const { onTrouble, now = Date.now } = this.#options;
    const left = Date.parse(this.#tokens.runTokenExpiresAt) - now();
    if (this.#closed || this.#troubled || left > WARN_MS) return;
    this.#troubled = true;
    onTrouble();
  }
}

const INTERVAL_MS = 60_000;
const RETRY_MS = 5_000;
const WARN_MS = 60_000;
