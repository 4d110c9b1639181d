/** Reads the newest rows of a record through the API, page by page. */
import { type Api, query } from './api.ts';

/**
 * The newest `limit` rows, oldest first.
 * @param route of a list that gives the newest first and takes `before` and `limit`
 */
export async function readNewest<Row extends { readonly id: string }>(
  api: Api,
  route: string,
  filter: Readonly<Record<string, string | undefined>>,
  limit: number,
): Promise<readonly Row[]> {
  const found: Row[] = [];
  while (found.length < limit) {
    const size = Math.min(limit - found.length, PAGE_ROWS);
    const at = `${route}${query({ ...filter, before: found.at(-1)?.id, limit: size })}`;
    const page = await api.call<readonly Row[]>('GET', at);
    found.push(...page);
    if (page.length < size) break;
  }
  return found.reverse();
}

/** The most rows that a page has. */
export const PAGE_ROWS = 1000;
