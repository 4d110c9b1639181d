/** Finds the server that has a tool, a prompt or a resource: by what is remembered, else by asking all for their lists. */
import type { AnyCall } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { Answer } from '../messages.ts';
import { recordRequest } from '../middle/record-request.ts';
import type { ServerTalk } from '../middle/server-talk.ts';
import type { Failed } from '../upstream/failures.ts';
import type { Asked, Way } from '../upstream/server.ts';
import { findNamed, fitsTemplate, type Listed } from './directory.ts';
import type { ListKind, ListMemory } from './list-memory.ts';
import type { Named } from './names.ts';
import { KEYS, type ListRead, readList } from './read-list.ts';

export interface HoldersOptions {
  readonly gate: Pick<Gate, 'record'>;
  readonly call: AnyCall;
  readonly talks: readonly ServerTalk[];
  readonly servers: readonly string[];
  readonly absent: readonly Named[];
  readonly memory: ListMemory;
}

/** Who has it, and what it is called there. */
export interface Held {
  readonly talk: ServerTalk;
  readonly name: string;
}

type Kind = ListKind | 'tools';

export class Holders {
  readonly #options: HoldersOptions;

  constructor(options: HoldersOptions) {
    this.#options = options;
  }

  /** Every server's list; where none has one, why. */
  async read(kind: Kind, asked: Asked, way: Way): Promise<readonly Listed[] | Answer | Failed> {
    const able = this.#able(kind);
    const reads = await Promise.all(able.map((talk) => this.#readOne(talk, kind, asked, way)));
    const lists = reads.flatMap((read, i) => {
      const server = able[i]?.name;
      return 'items' in read && server !== undefined ? [{ server, items: read.items }] : [];
    });
    const [first] = reads;
    return lists.length === 0 && first && !('items' in first) ? first : lists;
  }

  /** @returns the names of those that it could mean, where it is nobody's */
  async find(
    kind: 'tools' | 'prompts',
    name: unknown,
    asked: Asked,
    way: Way,
  ): Promise<Held | readonly string[]> {
    if (typeof name !== 'string') return [];
    const remembered = this.#isFresh(kind) ? this.known(kind, name) : [];
    if ('talk' in remembered) return remembered;
    await this.read(kind, asked, way);
    return this.known(kind, name);
  }

  /** By what is remembered alone. */
  known(kind: 'tools' | 'prompts', name: string): Held | readonly string[] {
    const { talks, servers, absent } = this.#options;
    const all = talks.flatMap((talk) =>
      this.#keysOf(talk, kind).map((each) => ({ server: talk.name, name: each })),
    );
    const found = findNamed(name, all, kind === 'tools' ? absent : [], servers);
    if (!('server' in found)) return found;
    const talk = talks.find((each) => each.name === found.server);
    return talk ? { talk, name: found.name } : [];
  }

  async findUri(uri: unknown, asked: Asked, way: Way): Promise<ServerTalk | null> {
    if (typeof uri !== 'string') return null;
    const [only, ...others] = this.#able('resources');
    if (!only || others.length === 0) return only ?? null;
    const remembered =
      this.#isFresh('resources') && this.#isFresh('resourceTemplates') ? this.ofUri(uri) : null;
    if (remembered) return remembered;
    await Promise.all([this.read('resources', asked, way), this.read('resourceTemplates', asked, way)]);
    return this.ofUri(uri);
  }

  /** By what is remembered alone: whoever lists it, else whoever has a template that it fits. */
  ofUri(uri: string): ServerTalk | null {
    const able = this.#able('resources');
    if (able.length === 1) return able[0] ?? null;
    const listing = able.find((talk) => this.#keysOf(talk, 'resources').includes(uri));
    const fitting = (): ServerTalk | undefined =>
      able.find((talk) => this.#keysOf(talk, 'resourceTemplates').some((each) => fitsTemplate(each, uri)));
    return listing ?? fitting() ?? null;
  }

  /** Its lists may have changed, by what it says. */
  forget(talk: ServerTalk, method: string): void {
    if (method.endsWith('/list_changed')) this.#options.memory.forget(this.#sessionId, talk.name);
  }

  async #readOne(talk: ServerTalk, kind: Kind, asked: Asked, way: Way): Promise<ListRead | Answer | Failed> {
    const at = performance.now();
    const read = await readList(talk, kind, asked, { signal: way.signal, ...SILENT });
    const end = 'items' in read ? { result: {} } : read;
    const { gate, call, memory } = this.#options;
    recordRequest(gate, call, talk, { asked: { method: `${LISTS[kind]}/list`, params: {} }, end, at });
    if (kind !== 'tools' && 'items' in read) {
      const keys = read.items.map((item) => String(item[KEYS[kind]]));
      memory.set(this.#sessionId, talk.name, kind, keys);
    }
    return read;
  }

  #keysOf(talk: ServerTalk, kind: Kind): readonly string[] {
    if (kind === 'tools') return talk.tools.shownNames;
    return this.#options.memory.find(this.#sessionId, talk.name, kind) ?? [];
  }

  #isFresh(kind: Kind): boolean {
    return this.#able(kind).every((talk) =>
      kind === 'tools'
        ? talk.tools.fresh
        : this.#options.memory.find(this.#sessionId, talk.name, kind) !== null,
    );
  }

  /** Those that say that they have such things. */
  #able(kind: Kind): readonly ServerTalk[] {
    const capability = kind === 'resourceTemplates' ? 'resources' : kind;
    return this.#options.talks.filter(({ about }) => about.capabilities[capability] !== undefined);
  }

  get #sessionId(): string {
    return this.#options.call.token.claims.sub;
  }
}

const LISTS = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources/templates',
} as const;
const SILENT: Omit<Way, 'signal'> = {
  onProgress: () => {},
  onLog: () => {},
  onRequest: async () => ({ error: { code: -32_601, message: 'Method not found' } }),
};
