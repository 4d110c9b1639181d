/** What servers listed of prompts and resources a short while ago: names and URIs alone, to know whom to ask for one. */
export type ListKind = 'prompts' | 'resources' | 'resourceTemplates';

interface Remembered {
  readonly keys: readonly string[];
  readonly readAt: number;
}

export class ListMemory {
  readonly #now: () => Date;
  readonly #lists = new Map<string, Remembered>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** `null` where it was not read, or may have changed since. */
  find(sessionId: string, server: string, kind: ListKind): readonly string[] | null {
    const found = this.#lists.get(keyOf(sessionId, server, kind));
    return found && this.#now().getTime() - found.readAt < FRESH_MS ? found.keys : null;
  }

  set(sessionId: string, server: string, kind: ListKind, keys: readonly string[]): void {
    const key = keyOf(sessionId, server, kind);
    this.#lists.delete(key);
    this.#lists.set(key, { keys, readAt: this.#now().getTime() });
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest);
  }

  forget(sessionId: string, server: string): void {
    for (const kind of ['prompts', 'resources', 'resourceTemplates'] as const) {
      this.#lists.delete(keyOf(sessionId, server, kind));
    }
  }
}

function keyOf(sessionId: string, server: string, kind: ListKind): string {
  return `${sessionId} ${server} ${kind}`;
}

const FRESH_MS = 60_000;
const MAX_LISTS = 1_000;
