/**
 * Who has what of the servers that are merged: tools and prompts by their merged names, resources by URI. Built of what
 * each server lists; a name that two could mean is nobody's.
 */
import type { JsonObject } from '../messages.ts';
import { matches } from '../see/tool-rules.ts';
import { type Named, nameMerged, prefixed } from './names.ts';

/** A server's list, as it is shown. */
export interface Listed {
  readonly server: string;
  readonly items: readonly JsonObject[];
}

/** All of them under their merged names, by server and then as each has them. */
export function mergeNamed(lists: readonly Listed[], absent: readonly Named[], servers: readonly string[]) {
  const all = lists.flatMap(({ server, items }) =>
    items.map((item) => ({ server, name: nameOf(item), item })),
  );
  const names = nameMerged([...all, ...absent], servers);
  return all.map(({ item }, i) => ({ ...item, name: names[i] }));
}

/** The one that a merged name means; else those that it could mean. */
export function findNamed(
  name: string,
  known: readonly Named[],
  absent: readonly Named[],
  servers: readonly string[],
): Named | readonly string[] {
  const all = [...known, ...absent];
  const names = nameMerged(all, servers);
  const exact = known.filter((_, i) => names[i] === name);
  const also = known.filter((item) => prefixed(item) === name);
  const [only, ...more] = exact.length > 0 ? exact : also;
  if (only && more.length === 0) return only;
  return names.filter((_, i) => all[i]?.name === name);
}

/** Each once: where two servers list the same, the first is asked for it. */
export function mergeByKey(lists: readonly Listed[], key: 'uri' | 'uriTemplate'): JsonObject[] {
  const seen = new Set<unknown>();
  return lists
    .flatMap(({ items }) => items)
    .filter((item) => {
      if (seen.has(item[key])) return false;
      seen.add(item[key]);
      return true;
    });
}

/** Whether a URI is one of a template's: what stands in braces is any text. */
export function fitsTemplate(template: string, uri: string): boolean {
  return template === uri || matches(template.replaceAll(/\{[^{}]*\}/g, '*'), uri);
}

function nameOf(item: JsonObject): string {
  return String(item['name']);
}
