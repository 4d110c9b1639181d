/** Reads the whole of a server's list, of whatever number of pages. */
import { type Answer, isJsonObject, type JsonObject } from '../messages.ts';
import type { ServerTalk } from '../middle/server-talk.ts';
import { type Failed, fail } from '../upstream/failures.ts';
import type { Asked, Way } from '../upstream/server.ts';
import type { ListKind } from './list-memory.ts';

export interface ListRead {
  readonly items: readonly JsonObject[];
}

export async function readList(
  talk: ServerTalk,
  kind: ListKind | 'tools',
  { meta }: Pick<Asked, 'meta'>,
  way: Way,
): Promise<ListRead | Answer | Failed> {
  if (kind === 'tools') {
    const read = await talk.listTools({ method: 'tools/list', params: {}, meta }, way);
    return 'shown' in read ? { items: read.shown } : read;
  }
  const listed: JsonObject[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && listed.length < MAX_LISTED; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const said = await talk.ask({ method: METHODS[kind], params, meta }, way);
    if ('denied' in said) return said.answer;
    if (!('result' in said)) return said;
    const { [kind]: more, nextCursor } = said.result;
    if (Array.isArray(more)) listed.push(...more.filter(isKeyed(kind)).slice(0, MAX_LISTED));
    if (typeof nextCursor !== 'string') return { items: listed };
    cursor = nextCursor;
  }
  return fail('malformed', false, `its list of ${kind} does not end`);
}

/** What it is known by. */
export const KEYS = {
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  tools: 'name',
} as const;

function isKeyed(kind: ListKind): (item: unknown) => item is JsonObject {
  return (item): item is JsonObject => isJsonObject(item) && typeof item[KEYS[kind]] === 'string';
}

const METHODS: Readonly<Record<ListKind, string>> = {
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
};
const MAX_PAGES = 100;
const MAX_LISTED = 10_000;
