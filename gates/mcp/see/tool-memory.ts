/**
 * What this process knows of the tools that sessions were shown, so that a call needs no list before it. It is asked
 * anew after a minute, when the server says that its tools changed, and before anything is refused because of it.
 */
import type { UpstreamPlace } from '../../../core-lite/record/mcp-upstreams.ts';

export interface KnownTool {
  readonly inputSchema: object;
  /** What its annotations say is enough. */
  readonly hinted: boolean;
  /** It is not what the session was first shown. */
  readonly changed: boolean;
}

/** Of one session at one server. */
export class KnownTools {
  readonly tools = new Map<string, KnownTool>();
  /** As first shown, in hex. They never change. */
  readonly pins = new Map<string, string>();
  /** Of which it was told that they changed. */
  readonly reported = new Set<string>();
  /** When all of them were read; `null`: not since they may have changed. */
  readAt: number | null = null;
  /** About what it holds. */
  size = 0;

  add(name: string, tool: KnownTool): void {
    this.tools.set(name, tool);
    this.size += name.length + JSON.stringify(tool.inputSchema).length;
  }

  clear(): void {
    this.tools.clear();
    this.readAt = null;
    this.size = 0;
  }
}

export class ToolMemory {
  readonly #known = new Map<string, KnownTools>();

  of(place: UpstreamPlace): KnownTools {
    const key = keyOf(place);
    const known = this.#known.get(key) ?? new KnownTools();
    // The least recently used goes first.
    this.#known.delete(key);
    this.#known.set(key, known);
    this.#shrink();
    return known;
  }

  #shrink(): void {
    let total = 0;
    for (const { size, pins } of this.#known.values()) total += size + pins.size * PIN_SIZE;
    for (const [key, { size, pins }] of this.#known) {
      if (this.#known.size <= 1 || (total <= MAX_TOTAL && this.#known.size <= MAX_KNOWN)) return;
      this.#known.delete(key);
      total -= size + pins.size * PIN_SIZE;
    }
  }
}

function keyOf({ sessionId, server }: UpstreamPlace): string {
  return `${sessionId} ${server}`;
}

const PIN_SIZE = 200;
/** Characters: more than a replica's sessions need at once. */
const MAX_TOTAL = 128 * 1024 * 1024;
const MAX_KNOWN = 2_000;
