/**
 * Which requests an environment secret may go on, where it is not all of its hosts: by path and by method. The rules as
 * they are written and stored; egress/decide/ says what they cover.
 */
import { Fault } from '../errors.ts';

export interface RequestRules {
  /** `/v1/` covers all below it, `/v1/models` that path alone. Without any, every path is covered. */
  readonly paths: readonly string[];
  /** As they are sent: GET does not cover HEAD. Without any, every method is covered. */
  readonly methods: readonly string[];
}

/** Throws Fault `input_invalid` with the first thing that is wrong. */
export function parseRules({ paths = [], methods = [] }: Partial<RequestRules>): RequestRules {
  const wrongPath = paths.find((path) => !PATH.test(path) || DOTS.test(path));
  if (wrongPath !== undefined) {
    throw new Fault(
      'input_invalid',
      `"${wrongPath}" is no path rule: write it as origins read it, from /, without a query, dot segments or empty ones`,
    );
  }
  const wrongMethod = methods.find((method) => !METHOD.test(method));
  if (wrongMethod !== undefined) {
    throw new Fault('input_invalid', `"${wrongMethod}" is no method: write it in capitals, as it is sent`);
  }
  return { paths: [...new Set(paths)], methods: [...new Set(methods)] };
}

export const NO_RULES: RequestRules = { paths: [], methods: [] };
/** Segments of what RFC 3986 3.3 lets stand in one, but no `;` (parameters) and no encoded dot, slash or backslash. */
const PATH =
  /^(?:\/|(?:\/(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%(?!2[eEfF]|5[cC]|25|3[bB]|[01])[0-9A-Fa-f]{2})+)+\/?)$/;
const DOTS = /\/\.+(?:\/|$)/;
const METHOD = /^[A-Z][A-Z-]{0,31}$/;
