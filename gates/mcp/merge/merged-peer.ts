/**
 * All servers of a session as one: what each lists under names that tell them apart, and each request at the server that
 * it is for. A server that cannot be asked now is left out; the others go on.
 */
import type { Call } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import { isJsonObject, type JsonObject, RPC } from '../messages.ts';
import { type Recorded, recordRequest } from '../middle/record-request.ts';
import type { Said, ServerTalk } from '../middle/server-talk.ts';
import { type Started, startAndAsk } from '../middle/start-and-ask.ts';
import { deny } from '../see/denials.ts';
import type { Asked, ServerNotification, Subscription, Way } from '../upstream/server.ts';
import type { McpPeer, PeerAbout, PeerFilter, PeerOutcome } from '../way.ts';
import { mergeAbout } from './about.ts';
import { type Listed, mergeByKey, mergeNamed } from './directory.ts';
import { Holders } from './holders.ts';
import type { ListKind, ListMemory } from './list-memory.ts';
import type { Named } from './names.ts';
import { markTask, readTaskId } from './task-ids.ts';

export interface MergedOptions {
  readonly gate: Pick<Gate, 'starter' | 'record'>;
  readonly call: Call;
  /** Those that can be asked, by name. */
  readonly talks: readonly ServerTalk[];
  /** All that the manifest declares. */
  readonly servers: readonly string[];
  /** Tools of those that cannot be asked now: names stay as they were with them. */
  readonly absent: readonly Named[];
  readonly memory: ListMemory;
}

export class MergedPeer implements McpPeer {
  readonly #options: MergedOptions;
  readonly #holders: Holders;
  readonly #started: Started = { now: true };
  readonly about: PeerAbout;

  constructor(options: MergedOptions) {
    this.#options = options;
    this.#holders = new Holders(options);
    this.about = mergeAbout(options.talks);
  }

  async request(asked: Asked, way: Way): Promise<PeerOutcome> {
    const { gate, call } = this.#options;
    const at = performance.now();
    const route: Route = { at: NOBODY, asked };
    const end = await startAndAsk(gate, call, this.#started, () => this.#route(asked, way, route));
    recordRequest(gate, call, route.at, { asked: route.asked, end, at });
    return 'denied' in end ? end.answer : end;
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await Promise.all(this.#options.talks.map((talk) => talk.notify(method, params)));
  }

  /** Ends with the first that ends: whoever listens begins anew. */
  subscribe(filter: PeerFilter, on: (said: ServerNotification) => void, onEnd?: () => void): Subscription {
    const { resourceSubscriptions: uris = [] } = filter;
    const subscriptions = this.#options.talks.map((talk) => {
      const own = uris.filter((uri) => this.#holders.ofUri(uri) === talk);
      const hear = (said: ServerNotification): void => {
        this.#holders.forget(talk, said.method);
        on({ ...said, params: markTask(talk.name, said.params) });
      };
      return talk.subscribe({ ...filter, resourceSubscriptions: own }, hear, onEnd);
    });
    return {
      close: () => {
        for (const subscription of subscriptions) subscription.close();
      },
    };
  }

  inputSchema(tool: string): object | null {
    const found = this.#holders.known('tools', tool);
    return 'talk' in found ? found.talk.inputSchema(found.name) : null;
  }

  async #route(asked: Asked, way: Way, route: Route): Promise<Said> {
    const { method, params } = asked;
    switch (method) {
      case 'tools/list':
      case 'prompts/list':
      case 'resources/list':
      case 'resources/templates/list':
        return this.#list(LISTS[method], asked, way);
      case 'tools/call':
      case 'prompts/get': {
        const kind = method === 'tools/call' ? 'tools' : 'prompts';
        const found = await this.#holders.find(kind, params['name'], asked, way);
        if (!('talk' in found)) return nobodys(kind, found);
        return forward(found.talk, { ...asked, params: { ...params, name: found.name } }, way, route);
      }
      case 'resources/read': {
        const talk = await this.#holders.findUri(params['uri'], asked, way);
        return talk ? forward(talk, asked, way, route) : noResource(params['uri']);
      }
      case 'completion/complete':
        return this.#complete(asked, way, route);
      default:
        return this.#other(asked, way, route);
    }
  }

  async #list(kind: ListKind | 'tools', asked: Asked, way: Way): Promise<Said> {
    const lists = await this.#holders.read(kind, asked, way);
    if (!Array.isArray(lists)) return lists as Said;
    const { absent, servers, talks } = this.#options;
    switch (kind) {
      case 'tools':
        return { result: { tools: mergeNamed(lists, [...absent, ...unlisted(talks, lists)], servers) } };
      case 'prompts':
        return { result: { prompts: mergeNamed(lists, [], servers) } };
      case 'resources':
        return { result: { resources: mergeByKey(lists, 'uri') } };
      case 'resourceTemplates':
        return { result: { resourceTemplates: mergeByKey(lists, 'uriTemplate') } };
      default:
        return kind satisfies never;
    }
  }

  async #complete(asked: Asked, way: Way, route: Route): Promise<Said> {
    const { ref } = asked.params;
    if (!isJsonObject(ref)) return noMethod(asked.method);
    if (ref['type'] !== 'ref/prompt') {
      const talk = await this.#holders.findUri(ref['uri'], asked, way);
      return talk ? forward(talk, asked, way, route) : noResource(ref['uri']);
    }
    const found = await this.#holders.find('prompts', ref['name'], asked, way);
    if (!('talk' in found)) return nobodys('prompts', found);
    const params = { ...asked.params, ref: { ...ref, name: found.name } };
    return forward(found.talk, { ...asked, params }, way, route);
  }

  /** What is of a task goes to its server; what nobody knows only where there is no choice. */
  async #other(asked: Asked, way: Way, route: Route): Promise<Said> {
    const { talks } = this.#options;
    const task = readTaskId(asked.params['taskId']);
    const talk = task
      ? talks.find(({ name }) => name === task.server)
      : talks.length === 1
        ? talks[0]
        : undefined;
    if (!talk) {
      // What is wrong with a task that is nobody's is for one to say that has tasks.
      const judge = asked.method.startsWith('tasks/') ? talks.find(hasTasks) : undefined;
      return judge ? forward(judge, asked, way, route) : noMethod(asked.method);
    }
    const params = task ? { ...asked.params, taskId: task.taskId } : asked.params;
    return forward(talk, { ...asked, params }, way, route);
  }
}

/** Whom a request went to, and as what: for its record. */
interface Route {
  at: Recorded;
  asked: Asked;
}

async function forward(talk: ServerTalk, asked: Asked, way: Way, route: Route): Promise<Said> {
  route.at = talk;
  route.asked = asked;
  const said = await talk.ask(asked, way);
  return 'result' in said ? { result: markTask(talk.name, said.result) } : said;
}

/** @param meant the names of those that it could mean */
function nobodys(kind: 'tools' | 'prompts', meant: readonly string[]): Said {
  const detail =
    meant.length > 0 ? `more than one has that name; say ${meant.join(' or ')}` : 'no server lists it';
  if (kind === 'tools') return deny('tool_undeclared', detail);
  return { error: { code: RPC.invalidParams, message: `there is no such prompt: ${detail}` } };
}

/** The tools of those that did not answer now: names stay as they were with them. */
function unlisted(talks: readonly ServerTalk[], lists: readonly Listed[]): readonly Named[] {
  const listed = new Set(lists.map(({ server }) => server));
  return talks
    .filter(({ name }) => !listed.has(name))
    .flatMap(({ name: server, tools }) => tools.shownNames.map((name) => ({ server, name })));
}

/** As a legacy server says it; a modern client is told in its own way. */
function noResource(uri: unknown): Said {
  return { error: { code: -32_002, message: 'no server lists such a resource', data: { uri } } };
}

function hasTasks({ about: { capabilities } }: ServerTalk): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && Object.hasOwn(extensions, TASKS);
}

function noMethod(method: string): Said {
  return { error: { code: RPC.methodNotFound, message: `Method not found: ${method}` } };
}

const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;
const TASKS = 'io.modelcontextprotocol/tasks';
/** No server's name, for what went to none or to all. */
const NOBODY: Recorded = { name: '*', tools: { find: () => null } };
