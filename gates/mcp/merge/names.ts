/**
 * What tools and prompts of many servers are called together: by their own names where those are told apart, else behind
 * the name of their server. It follows from what there is alone, in whatever order it comes, and no server can take
 * a name that belongs to another's.
 */
import { createHash } from 'node:crypto';

/** Something of a server's that has a name. */
export interface Named {
  readonly server: string;
  readonly name: string;
}

/** @param servers all that are merged. @returns the name of each, in its place */
export function nameMerged(items: readonly Named[], servers: readonly string[]): string[] {
  const counts = countAll(items.map(({ name }) => name));
  const first = items.map((item) =>
    counts.get(item.name) === 1 && isPlain(item, servers) ? item.name : prefixed(item),
  );
  const firstCounts = countAll(first);
  return items.map((item, i) => {
    const name = first[i] ?? prefixed(item);
    return firstCounts.get(name) === 1 || name === item.name ? name : hashed(item);
  });
}

/** The name behind its server's, which always means it where it is told apart. */
export function prefixed(item: Named): string {
  const name = `${item.server}_${item.name}`;
  return name.length <= MAX_LENGTH ? name : hashed(item);
}

/** Neither too long nor like the name of another server's. */
function isPlain({ server, name }: Named, servers: readonly string[]): boolean {
  return (
    name.length <= MAX_LENGTH && !servers.some((other) => other !== server && name.startsWith(`${other}_`))
  );
}

function hashed({ server, name }: Named): string {
  const hash = createHash('sha256').update(`${server} ${name}`).digest('hex').slice(0, HASH_LENGTH);
  return `${`${server}_${name}`.slice(0, MAX_LENGTH - HASH_LENGTH - 1).toWellFormed()}_${hash}`;
}

function countAll(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** What the APIs of models take. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 10;
