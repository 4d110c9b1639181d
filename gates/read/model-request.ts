/**
 * What of a model call's head would make two readers differ on it, or its usage be lost: a body that is coded in more
 * than one way or is no JSON, another model in the query, and a query or header by which Google's services leave out
 * fields of an answer or write it otherwise.
 */
import { foldName, type RawHeaders } from '../act/headers.ts';
import { queryFields } from './query.ts';

/** One line on what is wrong, or `null`. @param google whether Google's dialect is spoken */
export function judgeModelHead(headers: RawHeaders, query: string, google: boolean): string | null {
  const coded = linesOf(headers, 'content-encoding');
  if (coded.length > 1 || coded.some(({ name }) => name.toLowerCase() !== 'content-encoding')) {
    return 'Content-Encoding is there more than once, or in another spelling';
  }
  if (queryFields(query).some(([name]) => MODEL.test(name))) return 'the query’s model is not served';
  return google ? judgeGoogleHead(headers, query) : null;
}

/** What of a request that goes to Google, in whatever dialect, loses fields of its answer: one line, or `null`. */
export function judgeGoogleHead(headers: RawHeaders, query: string): string | null {
  if (linesOf(headers, 'x-goog-fieldmask').length > 0) return 'X-Goog-FieldMask is not served';
  const wrong = queryFields(query).find(
    ([name, value]) => !isServed(name.toLowerCase(), value.toLowerCase()),
  );
  return wrong ? `the query’s ${WORD.exec(wrong[0])?.[0] ?? ''} is not served as it is` : null;
}

/** Whether the body is told to be JSON in UTF-8, or nothing is told: some servers read a form, or another charset. */
export function isJsonHead(headers: RawHeaders): boolean {
  return linesOf(headers, 'content-type').every(({ value }) => JSON_TYPE.test(value.trim()));
}

/** The lines of this name, in any spelling that some server takes for it. */
function linesOf(headers: RawHeaders, folded: string): { readonly name: string; readonly value: string }[] {
  return headers.flatMap((name, i) =>
    i % 2 === 0 && foldName(name) === folded ? [{ name, value: headers[i + 1] ?? '' }] : [],
  );
}

function isServed(name: string, value: string): boolean {
  if (name === 'alt' || name === '$alt') return FORM.test(value);
  // By names with a dollar Google's services take every parameter of theirs, and others' methods and headers.
  return !name.startsWith('$') && !UNSERVED.has(name);
}

/** With their numbers for words Google's own clients ask. */
const FORM = /^(?:json|sse)(?:;enum-encoding=int)?$/;
const UNSERVED: ReadonlySet<string> = new Set(['fields', 'callback', 'access_token', 'oauth_token']);
const WORD = /^[$\w]{1,32}/;
const MODEL = /^\$?models?(?:\[.*)?$/i;
const JSON_TYPE =
  /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?$/i;
