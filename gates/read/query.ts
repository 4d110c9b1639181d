/**
 * A request's query, as bytes that go on to the provider: only what holds the caller's key is taken out, every other
 * byte stays as it came.
 */

/** The values of `?key=`, where clients of Gemini put theirs. @param query begins with its `?`; empty for none */
export function queryKeys(query: string): string[] {
  return queryFields(query).flatMap(([name, value]) => (name === KEY ? [value] : []));
}

/** Name and value of each field, decoded. */
export function queryFields(query: string): (readonly [name: string, value: string])[] {
  return fields(query).map((field) => [nameOf(field), decode(/=(.*)$/s.exec(field)?.[1] ?? '')]);
}

/** @param token the caller's: a field that holds it anywhere is left out with its `&` */
export function providerQuery(query: string, token: string): string {
  const kept = fields(query).filter((field) => nameOf(field) !== KEY && !decode(field).includes(token));
  if (kept.length === fields(query).length) return query;
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

function fields(query: string): string[] {
  return query === '' ? [] : query.slice(1).split('&');
}

function nameOf(field: string): string {
  return decode(field.split('=', 1)[0] ?? '');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const KEY = 'key';
