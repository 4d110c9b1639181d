/**
 * A server's tools as one session may see them: those that its manifest allows, none that hides behind another's name,
 * each pinned as it was first shown.
 */
import type { McpTools } from '../../../core-lite/record/mcp-tools.ts';
import type { UpstreamPlace } from '../../../core-lite/record/mcp-upstreams.ts';
import type { McpServer } from '../../../core-lite/state/manifest/mcp-server.ts';
import { isJsonObject, type JsonObject } from '../messages.ts';
import { hashTool } from './tool-hash.ts';
import type { KnownTool, KnownTools, ToolMemory } from './tool-memory.ts';
import { mayHint, mayName } from './tool-rules.ts';

export interface ServerToolsOptions {
  readonly memory: ToolMemory;
  readonly pins: Pick<McpTools, 'pin'>;
  readonly now: () => Date;
  readonly place: UpstreamPlace;
  readonly declared: Pick<McpServer, 'tools' | 'hints' | 'onChangedTool'>;
  /** Told once of each tool that changed. */
  readonly onChanged: (tool: string) => void;
}

export class ServerTools {
  readonly #options: ServerToolsOptions;
  readonly #known: KnownTools;

  constructor(options: ServerToolsOptions) {
    this.#options = options;
    this.#known = options.memory.of(options.place);
  }

  /** Whether all of them were read a short while ago, and nothing was said since. */
  get fresh(): boolean {
    const { readAt } = this.#known;
    return readAt !== null && this.#options.now().getTime() - readAt < FRESH_MS;
  }

  find(name: string): KnownTool | null {
    return this.#known.tools.get(name) ?? null;
  }

  get shownNames(): readonly string[] {
    return [...this.#known.tools].filter(([, tool]) => this.isShown(tool)).map(([name]) => name);
  }

  /** Whether a known tool may be called, and shown. */
  isShown({ hinted, changed }: KnownTool): boolean {
    return hinted && !(changed && this.#options.declared.onChangedTool === 'refuse');
  }

  /** They may have changed. */
  forget(): void {
    this.#known.clear();
  }

  /**
   * Remembers what a server lists. Rejects with Fault `database_unreachable`.
   * @param listed of bounded depth
   * @param whole whether these are all of its tools
   * @returns those that may be shown, as they came and in their order
   */
  async look(listed: unknown, whole: boolean): Promise<readonly JsonObject[]> {
    const named = this.#nameAll(listed);
    const hashes = new Map([...named].map(([name, tool]) => [name, hashTool(tool)]));
    await this.#pin(hashes);
    const known = this.#known;
    if (whole) known.clear();
    const shown: JsonObject[] = [];
    for (const [name, tool] of named) {
      const pin = known.pins.get(name);
      // Of a tool that could not be pinned nobody can tell later whether it changed.
      if (pin === undefined) continue;
      const seen = this.#judge(tool, pin !== hashes.get(name)?.toString('hex'));
      if (seen.changed) this.#report(name);
      known.add(name, seen);
      if (this.isShown(seen)) shown.push(tool);
    }
    if (whole) known.readAt = this.#options.now().getTime();
    return shown;
  }

  /** Of two tools of one name the first counts. */
  #nameAll(listed: unknown): ReadonlyMap<string, JsonObject> {
    const named = new Map<string, JsonObject>();
    for (const tool of Array.isArray(listed) ? listed : []) {
      const name: unknown = isJsonObject(tool) ? tool['name'] : null;
      if (typeof name !== 'string' || !NAME.test(name) || named.has(name)) continue;
      if (named.size < MAX_TOOLS && mayName(this.#options.declared, name)) named.set(name, tool);
    }
    return named;
  }

  async #pin(hashes: ReadonlyMap<string, Buffer>): Promise<void> {
    const { pins, place } = this.#options;
    const known = this.#known;
    const unknown = new Map([...hashes].filter(([name]) => !known.pins.has(name)));
    if (unknown.size === 0) return;
    for (const [name, hash] of await pins.pin(place, unknown)) known.pins.set(name, hash.toString('hex'));
  }

  #judge({ inputSchema, annotations }: JsonObject, changed: boolean): KnownTool {
    return {
      inputSchema: isJsonObject(inputSchema) ? inputSchema : {},
      hinted: mayHint(this.#options.declared, annotations),
      changed,
    };
  }

  #report(name: string): void {
    if (this.#known.reported.has(name)) return;
    this.#known.reported.add(name);
    this.#options.onChanged(name);
  }
}

/** Names that a log line, a database and a head can hold. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const FRESH_MS = 60_000;
/** More than any agent can choose from. */
const MAX_TOOLS = 2_000;
