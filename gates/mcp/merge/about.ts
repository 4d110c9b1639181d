/** What many servers say of themselves, as one. */
import { isJsonObject, type JsonObject } from '../messages.ts';
import type { ServerTalk } from '../middle/server-talk.ts';
import { OURSELVES } from '../upstream/envelope.ts';
import type { PeerAbout } from '../way.ts';

export function mergeAbout(talks: readonly Pick<ServerTalk, 'name' | 'about'>[]): PeerAbout {
  const told = talks.flatMap(({ name, about: { instructions } }) =>
    instructions === null ? [] : [`# ${name}\n\n${instructions}`],
  );
  return {
    capabilities: talks.reduce<JsonObject>((all, { about }) => mergeAll(all, about.capabilities), {}),
    serverInfo: OURSELVES,
    instructions: told.length === 0 ? null : told.join('\n\n'),
  };
}

/** Whatever one of them can. */
function mergeAll(one: JsonObject, other: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const had = Object.hasOwn(one, name) ? one[name] : undefined;
    if (isJsonObject(had) && isJsonObject(value)) merged[name] = mergeAll(had, value);
    else merged[name] = had === undefined || had === false ? value : had;
  }
  return merged;
}
