/**
 * Headers by which frameworks take another method or path than the request line's. A secret that is limited to paths and
 * methods never goes where one stands, be it in a request's head or in its trailers.
 */

/** @param name folded */
export function isOverride(name: string): boolean {
  return OVERRIDES.has(name);
}

const OVERRIDES: ReadonlySet<string> = new Set([
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
]);
