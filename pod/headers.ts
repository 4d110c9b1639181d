/** Raw headers as Node hands them over: name, value, name, value, in their order and spelling. */

export type RawHeaders = readonly string[];

/** Every value of a header. @param name in lower case */
export function valuesOf(raw: RawHeaders, name: string): string[] {
  return raw.filter((_, place) => place % 2 === 1 && raw[place - 1]?.toLowerCase() === name);
}

/** The headers without those that `drop` names, in lower case. */
export function withoutHeaders(raw: RawHeaders, drop: ReadonlySet<string>): string[] {
  return raw.filter((_, place) => !drop.has((raw[place - (place % 2)] ?? '').toLowerCase()));
}

/** The name and value of each header. */
export function pairsOf(raw: RawHeaders): (readonly [string, string])[] {
  return raw.flatMap((name, place) => (place % 2 === 0 ? [[name, raw[place + 1] ?? ''] as const] : []));
}

/** Whether a browser sent it, on behalf of a page. */
export function isOfBrowser(raw: RawHeaders): boolean {
  return pairsOf(raw).some(([name]) => BROWSER.test(name));
}

/**
 * Browsers send at least one of them with every request that a page causes, and no page can take them away. They send
 * `Sec-Fetch-Mode` too, but so does Node's own `fetch`, and with it every SDK: alone it tells nothing.
 */
const BROWSER = /^(origin|sec-fetch-(?!mode$).*)$/i;
