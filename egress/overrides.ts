/**
 * Headers by which frameworks take another method or path than the request line's. A secret that is limited to paths and
 * methods never goes where one stands, be it in a request's head or in its trailers.
 */

/** @param name folded */
export function isOverride(name: string): boolean {
  return OVERRIDES.has(name);
}

const OVERRIDES: ReadonlySet<string> = new Set([
  'x-forwarded-method',
  'x-forwarded-path',
  'x-forwarded-uri',
  'x-forwarded-url',
  'x-http-method',
  'x-http-method-override',
  'x-http-path-override',
  'x-method-override',
  'x-original-method',
  'x-original-path',
  'x-original-uri',
  'x-original-url',
  'x-override-method',
  'x-override-path',
  'x-override-uri',
  'x-override-url',
  'x-path-override',
  'x-rewrite-path',
  'x-rewrite-uri',
  'x-rewrite-url',
  'x-url-override',
]);
