/**
 * What of a model call's head would make two readers differ on it, or its usage be lost: a body that is coded in more
 * than one way, and a query or header by which Google's services leave out fields of an answer or write it otherwise.
 */
import { foldName, type RawHeaders } from '../act/headers.ts';
import { queryFields } from './query.ts';

/** One line on what is wrong, or `null`. @param google whether Google's dialect is spoken */
export function judgeModelHead(headers: RawHeaders, query: string, google: boolean): string | null {
  const names = headers.filter((_, i) => i % 2 === 0);
  const coded = names.filter((name) => foldName(name) === CODING);
  if (coded.length > 1 || coded.some((name) => name.toLowerCase() !== CODING)) {
    return 'Content-Encoding is there more than once, or in another spelling';
  }
  if (!google) return null;
  if (names.some((name) => foldName(name) === FIELD_MASK)) return 'X-Goog-FieldMask is not served';
  const wrong = queryFields(query).find(
    ([name, value]) => !isServed(name.toLowerCase(), value.toLowerCase()),
  );
  return wrong ? `the query’s ${WORD.exec(wrong[0])?.[0] ?? ''} is not served as it is` : null;
}

function isServed(name: string, value: string): boolean {
  if (name === 'alt' || name === '$alt') return FORM.test(value);
  // By names with a dollar Google's services take every parameter of theirs, and others' methods and headers.
  return !name.startsWith('$') && !UNSERVED.has(name);
}

const CODING = 'content-encoding';
const FIELD_MASK = 'x-goog-fieldmask';
/** With their numbers for words Google's own clients ask. */
const FORM = /^(?:json|sse)(?:;enum-encoding=int)?$/;
const UNSERVED: ReadonlySet<string> = new Set(['fields', 'callback', 'access_token', 'oauth_token']);
const WORD = /^[$\w]{1,32}/;
